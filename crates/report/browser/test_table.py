"""The page of a table: marks, zoom, the look-up explorer beside the engine, accessibility, and hostile keys."""

import json
import random

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import HOSTILE, lookup

RANDOM = random.Random(17)
# Gaps of all sizes: lines are bent, and keys between two of them are absent.
NUMBERS = sorted({int(RANDOM.lognormvariate(0, 3) * 10**9) * 3 for _ in range(60_000)})
WORDS = sorted({RANDOM.choice(["com.", "org.ogive."]) + hex(RANDOM.randrange(10**9)) for _ in range(40_000)})

KINDS = {
    "lines": (NUMBERS, ["--design", "layers=1,builder=gband,lambda=1024", "--block-size", "512"]),
    "lines2": (NUMBERS, ["--design", "layers=2,builder=gband,lambda=4096", "--payload", "40"]),
    "coded": (NUMBERS, ["--design", "coded", "--block-size", "512"]),
    "steps": (NUMBERS, ["--design", "btree", "--payload", "24"]),
    "tuned": (NUMBERS, ["--filter", "10"]),
    "packed": (NUMBERS, ["--payload", "60", "--compress", "lz4"]),
    "signed": ([number - 10**10 for number in NUMBERS], ["--key-type", "i64"]),
    "floats": ([number / 7 for number in NUMBERS], ["--key-type", "f64"]),
    "words": (WORDS, ["--block-size", "512"]),
    "layered words": (WORDS, ["--block-size", "512", "--resident", "512"]),
}


def made(tables, kind):
    keys, options = KINDS[kind]
    return tables.build(kind, (str(key).encode() for key in keys), *options)


def explorer(page, key):
    """Types a key into the explorer: its state, and the reads after the opening one."""
    page.fill("#explorer-key", key)
    page.click("#explorer-form button")
    data = page.eval_on_selector("#explorer-result", "element => ({...element.dataset})")
    reads = [(offset, size) for kind, offset, size in json.loads(data.get("reads", "[]")) if kind in ("layer", "data")]
    return data["state"], reads


@pytest.mark.parametrize("kind", KINDS)
def test_the_explorer_makes_the_reads_of_the_engine_for_present_and_absent_keys(kind, tables, open_page):
    table = made(tables, kind)
    page = open_page(tables.page(table))
    keys, _ = KINDS[kind]
    present = [str(key) for key in [keys[0], keys[-1], *RANDOM.sample(keys, 12)]]
    absent = [str(key + 1) if isinstance(key, (int, float)) else key + "~" for key in RANDOM.sample(keys, 8)]
    absent += ["0", "999999999999999"] if kind != "words" else ["!", "~"]
    for key in present + absent:
        found, reads = lookup(table, key)
        state, shown = explorer(page, key)
        assert state == "found", key
        # A filter spares the engine the data of most absent keys.
        assert shown == reads or (not found and shown[: len(reads)] == reads), key
        assert found or key not in present


@pytest.mark.parametrize("kind", ["lines", "lines2", "coded", "steps", "words"])
def test_zoom_leads_to_the_nodes_by_wheel_and_by_keys(kind, tables, open_page):
    page = open_page(tables.page(made(tables, kind)))
    span = "(() => { const { from, to } = document.getElementById('curve').ogive.view(); return Number(BigInt(to) - BigInt(from)) })()"
    whole = page.evaluate(span)
    curve = page.locator("#curve")
    curve.scroll_into_view_if_needed()
    box = curve.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.wheel(0, -600)
    assert page.evaluate(span) == whole, "the page scrolls until the chart has the focus"
    curve.focus()
    box = curve.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.wheel(0, -600)
    page.wait_for_timeout(100)
    wheeled = page.evaluate(span)
    assert wheeled < whole / 4
    page.keyboard.press("+")
    assert page.evaluate(span) < wheeled * 0.6
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    assert page.evaluate(span) == whole
    page.click("#curve-block")
    page.wait_for_timeout(100)
    nodes = page.eval_on_selector("#curve", "element => element.dataset.nodes.split(',').map(Number)")
    separators = int(page.eval_on_selector("#curve", "element => element.dataset.separators"))
    assert nodes[-1] > 0 and (nodes[0] > 0 or separators > 0), (nodes, separators)


def test_two_fingers_zoom_and_a_click_looks_up(tables, open_page):
    page = open_page(tables.page(made(tables, "coded")), has_touch=True)
    page.locator("#curve").scroll_into_view_if_needed()
    before = page.evaluate("document.getElementById('curve').ogive.view()")
    page.evaluate(
        """() => {
        const over = document.querySelector('#curve .u-over');
        const { left, top, width } = over.getBoundingClientRect();
        const send = (name, id, part) => over.dispatchEvent(new PointerEvent(name, {
            pointerId: id, bubbles: true, clientX: left + width * part, clientY: top + 50, pointerType: 'touch' }));
        send('pointerdown', 1, 0.4); send('pointerdown', 2, 0.6);
        send('pointermove', 2, 0.95); send('pointerup', 1, 0.4); send('pointerup', 2, 0.95);
        }"""
    )
    after = page.evaluate("document.getElementById('curve').ogive.view()")
    assert int(after["to"]) - int(after["from"]) < (int(before["to"]) - int(before["from"])) / 1.5
    old = page.input_value("#explorer-key")
    page.locator("#curve .u-over").click(position={"x": 300, "y": 60})
    assert page.input_value("#explorer-key") != old
    assert page.get_attribute("#explorer-result", "data-state") == "found"


def test_figures_have_marks_and_their_numbers(tables, open_page):
    page = open_page(tables.page(made(tables, "tuned")))
    assert page.locator("figure svg").count() >= 4
    assert page.locator("figure svg rect, figure svg path").count() > 40
    assert page.locator("figure details table tbody tr").count() > 60
    drawn = """() => {
        const canvas = document.querySelector('#curve canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let at = 3; at < data.length; at += 4) count += data[at] > 0;
        return count;
    }"""
    assert page.evaluate(drawn) > 2000
    assert page.locator("#explorer-result .times tbody tr").count() >= 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["lines2", "words"])
def test_axe_finds_no_violation(kind, scheme, tables, open_page):
    page = open_page(tables.page(made(tables, kind)), color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found] == []


def test_a_page_is_small_and_prints_in_light(tables, open_page):
    path = tables.page(made(tables, "tuned"))
    assert path.stat().st_size < 300_000
    page = open_page(path, color_scheme="dark")
    page.emulate_media(media="print")
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (ink, paper) == ("rgb(27, 31, 36)", "rgb(255, 255, 255)")
    assert page.locator(".chart-tools").is_hidden()


def test_hostile_keys_run_nothing_and_are_found(tables, open_page):
    lines = [text.encode() for text in HOSTILE] + [b"\xff\xfe<script>", b"plain"]
    table = tables.build("hostile", lines, "--key-type", "bytes")
    options = [word for text in HOSTILE for word in ("--key", text)]
    page = open_page(tables.page(table, *options))
    assert page.locator("#explorer-examples button").count() == len(HOSTILE)
    for button in page.locator("#explorer-examples button").all():
        button.click()
        assert page.get_attribute("#explorer-result", "data-state") == "found"
        assert "present" in page.inner_text("#explorer-result")
    for text in HOSTILE:
        assert explorer(page, text)[0] == "found"
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main iframe, main link").count() == 0


def test_a_script_that_is_not_ours_is_blocked(tables, browser, tmp_path):
    html = tables.page(made(tables, "coded")).read_text()
    forged = tmp_path / "forged.html"
    forged.write_text(html.replace("</main>", "<p onclick=window.ran=1>x</p><script>window.ran = 1</script></main>"))
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(forged.as_uri())
    page.evaluate("document.querySelector('p[onclick]').click()")
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in refused), refused


def test_a_wrong_key_is_refused_in_words(tables, open_page):
    page = open_page(tables.page(made(tables, "coded")))
    assert explorer(page, "apple")[0] == "invalid"
    assert "u64" in page.inner_text("#explorer-result")
