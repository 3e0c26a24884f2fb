"""The examples of the README, run in order, and the notebooks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

CRATES = Path(__file__).parent.parent.parent
README = Path(__file__).parent.parent / "README.md"


def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert names["table"][42] == {"name": "Grace"} and list(names["snapshot"].keys()) == ["apple", "fig", "pear"]
    names["db"].close()


def test_the_example_of_the_project_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (block,) = re.findall(r"```python\n(.*?)```", (CRATES.parent / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, "README.md", "exec"), names)
    names["db"].close()


@pytest.mark.parametrize("notebook", sorted((README.parent / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    read = nbformat.read(notebook, as_version=4)
    client.NotebookClient(read, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in read.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in outputs)


def test_what_messages_say_to_programs_in_rust_is_said_to_python() -> None:
    """Names in backticks within messages of the libraries are those of the command, or have words for Python."""
    known = (CRATES / "python" / "src" / "errors.rs").read_text()
    found = 0
    for crate in ("engine", "parquet", "object-store", "arrow"):
        for path in sorted((CRATES / crate / "src").rglob("*.rs")):
            source = path.read_text().partition("#[cfg(test)]")[0]
            # Backticks outside of comments are within texts.
            text = re.sub(r"(?m)//.*$", "", source) if "tests" not in path.stem else ""
            for name in re.findall(r"`([^`\n]+)`", text):
                found += 1
                is_for_all = name.startswith(("ogive", "ulimit", "{feature}", '", stringify'))
                assert is_for_all or f"`{name}`" in known, f"{path}: {name}"
    assert found > 20
