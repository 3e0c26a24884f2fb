"""The examples of the README, run in order, and the notebooks."""

from __future__ import annotations

import doctest
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


def test_the_examples_of_the_page_on_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are one session, and print what the page says."""
    monkeypatch.chdir(tmp_path)
    page = (CRATES.parent / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 7 and all(block.startswith(">>> ") for block in blocks)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "python.md", "docs/python.md", 0)
    told: list[str] = []
    failed = doctest.DocTestRunner().run(session, out=told.append).failed
    assert failed == 0, "".join(told)


def test_the_example_of_the_recipe_of_transactions_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = (CRATES.parent / "docs/recipes/transactions.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", recipe, re.DOTALL)
    exec(compile(block, "transactions.md", "exec"), {})


@pytest.mark.parametrize("notebook", sorted((README.parent / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    read = nbformat.read(notebook, as_version=4)
    client.NotebookClient(read, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in read.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in outputs)


def test_messages_outside_the_voice_of_the_library_name_nothing_of_rust() -> None:
    """Names in backticks within messages of the libraries are those of the command. What programs in Rust are told is in
    the voice of the library, instead of which Python has its own."""
    voices = {Path("engine/src/error/library.rs"), Path("engine/src/error/samples.rs"), Path("parquet/src/error.rs")}
    found = 0
    for crate in ("engine", "parquet", "object-store", "arrow"):
        for path in sorted((CRATES / crate / "src").rglob("*.rs")):
            if path.relative_to(CRATES) in voices or "tests" in path.stem:
                continue
            source = path.read_text().partition("#[cfg(test)]")[0]
            # Backticks outside of comments, and of what the compiler says, are within messages.
            source = re.sub(r"(?s)#\[diagnostic::on_unimplemented\(.*?\n\)\]", "", source)
            for name in re.findall(r"`([^`\n]+)`", re.sub(r"(?m)//.*$", "", source)):
                found += 1
                assert name.startswith(("ogive", "ulimit", "{feature}", '", stringify', "tune")), f"{path}: {name}"
    assert found > 5
