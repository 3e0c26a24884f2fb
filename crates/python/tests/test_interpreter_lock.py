"""That no call keeps the interpreter's lock while it waits, for storage or for another thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("program", ["interpreter_lock.py", "locks.py"])
def test_no_call_waits_with_the_interpreters_lock(program: str) -> None:
    command = [sys.executable, Path(__file__).parent / program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")
