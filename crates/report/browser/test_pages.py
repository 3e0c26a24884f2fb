"""Pages of indexes, stores, profiles, designs and joins: marks with their numbers, accessibility, hostile keys."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import HOSTILE, ogive

READY = "document.querySelector('svg.ogive') !== null"


@pytest.fixture(scope="module")
def pages(tables):
    """The pages, by kind."""
    folder = tables.folder
    keys = folder / "ids.csv"
    keys.write_text("id,n\n" + "".join(f"{key * key},{key}\n" for key in range(20_000)))
    index, store = folder / "ids.ogx", folder / "names"
    ogive("index", "create", index, "--value-bytes", "8")
    ogive("index", "load", index, keys, "--key", "id", "--value", "n", "--values", "number")
    names = folder / "names.jsonl"
    rows = HOSTILE + [f"name {number}" for number in range(2_000)]
    names.write_text("".join(json.dumps({"id": name, "n": 1}) + "\n" for name in rows))
    ogive("db", "import", store, names, "--key", "id")
    table = tables.build("numbers", (str(key * key).encode() for key in range(20_000)))
    made = {name: folder / f"{name}-page.html" for name in ["index", "store", "tune", "join", "profile"]}
    ogive("report", index, "-o", made["index"])
    ogive("report", store, "-o", made["store"])
    ogive("tune", keys, "--key", "id", "--html", made["tune"])
    ogive("join", table, keys, "--right-key", "id", "-o", folder / "j.csv", "--explain", "--html", made["join"])
    ogive("profile", folder, "--seconds", "0.1", "--file-size", "4MiB", "--html", made["profile"])
    return made


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["index", "store", "tune", "join", "profile"])
def test_each_page_has_marks_with_numbers_and_passes_axe(kind, scheme, pages, open_page):
    page = open_page(pages[kind], ready=READY, color_scheme=scheme)
    marks = page.locator("svg.ogive rect > title, svg.ogive path > title").all_text_contents()
    assert len(marks) >= 4 and any(mark[-1].isdigit() or " " in mark for mark in marks)
    assert Axe().run(page).response["violations"] == []


def test_hostile_keys_of_a_store_are_text(pages, open_page):
    page = open_page(pages["store"], ready=READY)
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main script:not([type='application/json'])").count() == 0
