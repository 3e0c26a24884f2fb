"""Runs a program on a pseudo-terminal and talks to it: `python3 terminal.py PROGRAM ARGUMENT...`.

The steps come from the standard input, one a line: "send TEXT" types a text, with escapes such as \\t and \\x04, and
"wait TEXT" reads until the text comes. What the program printed goes to the standard output. The exit code is that of
the program; 124 if a text does not come or the program does not end.
"""

import os
import pty
import select
import sys
import time

DEADLINE = time.monotonic() + 60

steps = [line.rstrip("\n").split(" ", 1) for line in sys.stdin]
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])


def read() -> bytes:
    """What comes next; nothing at the end."""
    ready, _, _ = select.select([terminal], [], [], max(0, DEADLINE - time.monotonic()))
    if not ready:
        os.kill(process, 9)
        sys.exit(124)
    try:
        part = os.read(terminal, 65536)
    except OSError:  # Linux says the end by it
        part = b""
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    return part


unread = b""
for action, text in steps:
    text = text.encode().decode("unicode_escape").encode("latin-1")
    if action == "send":
        os.write(terminal, text)
        continue
    while text not in unread:
        part = read()
        unread += part
        if not part:
            print(f"\nit ended before {text!r}", flush=True)
            sys.exit(124)
    unread = unread[unread.index(text) + len(text) :]
while read():
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
