"""Tables, their pages, and a browser to open them in.

Goal: pages work in a real browser. Method: the command builds tables and pages; Chromium opens the pages from disk, and
every message of its console is an error.

OGIVE_PROGRAM is the command, OGIVE_CHROMIUM the browser; `cargo xtask test` sets both.
"""

import json
import os
import subprocess

import pytest
from playwright.sync_api import sync_playwright

PROGRAM = os.environ.get("OGIVE_PROGRAM", "target/debug/ogive")
CHROMIUM = os.environ.get("OGIVE_CHROMIUM", "/usr/bin/chromium")

# Text that would run, or change the page, if it was not escaped.
HOSTILE = [
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror=window.ran=1>",
    "\"'><svg onload=window.ran=1>",
    "<!--<script>",
    "a\u2028b\u2029c",
    "\u202eright to left",
]


def ogive(*words, code=0):
    """Runs the command; its standard output."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode()


def lookup(table, key):
    """The lookup of a key by the command: whether it is found, and the reads after the opening one."""
    done = subprocess.run([PROGRAM, "get", table, "--explain", "--json", "--", key], capture_output=True)
    answer = json.loads(done.stdout)
    reads = [(read["offset"], read["size_bytes"]) for read in answer["reads"] if read["purpose"] not in ("open", "filter")]
    return done.returncode == 0, reads


class Tables:
    """Makes tables and pages in a folder, each once."""

    def __init__(self, folder):
        self.folder = folder

    def build(self, name, lines, *options):
        """A table of these lines."""
        path = self.folder / f"{name}.ogive"
        if not path.exists():
            source = self.folder / f"{name}.txt"
            source.write_bytes(b"".join(line + b"\n" for line in lines))
            ogive("build", source, "-o", path, *options)
        return path

    def page(self, table, *options):
        """The page of a table."""
        path = self.folder / f"{table.stem}.html"
        if not path.exists():
            ogive("report", table, "-o", path, *options)
        return path


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    return Tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """Opens pages; fails if any of them prints to the console, throws, or requests anything but itself."""
    contexts, problems = [], []

    def open_it(path, ready="document.querySelector('#curve canvas') !== null", **options):
        options = {"color_scheme": "light", "viewport": {"width": 1100, "height": 900}} | options
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: request.url != path.as_uri() and problems.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function(ready)
        page.wait_for_timeout(100)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert problems == []
