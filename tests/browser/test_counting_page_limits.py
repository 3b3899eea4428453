"""The page that counts in the browser with hostile input, without a network, and for everyone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.browser.counting_page import PATIENCE, CountingPage
from tests.browser.static_server import SUBPATH, Served

AXE = Path(__file__).parent.parent.parent / "web/node_modules/axe-core/axe.min.js"
HEAD = "netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n"
#: Texts that ask for too much.
HOSTILE = {
    "repeats": HEAD + "- {repeat: 1000000000, sequence: [{linear: 8}]}\n",
    "distinct": HEAD + '- {repeat: {times: 90000000, index: i}, sequence: [{linear: "${8 + i}"}, {linear: 8}]}\n',
    "depth": HEAD + "- " + "[" * 100_000 + "\n",
    "mappings": HEAD + "- " + "{sequence: [" * 5_000 + "relu" + "]}" * 5_000 + "\n",
    "expression": HEAD + '- {linear: "${' + "(" * 5_000 + "1" + ")" * 5_000 + '}"}\n',
    "power": HEAD + '- {linear: "${9 ** 9 ** 9}"}\n',
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ),
}


@pytest.fixture(scope="module")
def visit(chromium: Any, site: Served) -> Iterator[CountingPage]:
    visited = CountingPage(chromium, site)
    visited.total("params", "82,826")
    yield visited
    visited.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_end_as_on_the_command_line(name: str, visit: CountingPage) -> None:
    text = HOSTILE[name]
    with pytest.raises(netcalc.NetcalcError) as error:
        netcalc.loads(text).summary()
    expected = error.value.diagnostics[0]
    visit.page.click("button.new")
    visit.paste(text)
    row = visit.page.locator(f".problems li[data-code={expected.code}]").first
    longest = _longest_wait(visit, row)
    assert expected.message[:60] in row.inner_text()
    assert longest < 2  # seconds without an answer of the page, on a machine that does other things
    visit.page.click("button[aria-label^='Close ']")
    visit.total("params", "82,826")


def test_a_long_text_ends_at_the_limit(visit: CountingPage) -> None:
    visit.page.click("button.new")
    visit.page.evaluate(
        """([line, times]) => {
          const { view } = document.querySelector('.cm-content').cmTile
          view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: line.repeat(times) } })
        }""",
        ["# a comment\n", 10_000_000 // 12],
    )
    row = visit.page.locator(".problems li[data-code=E003]", has_text="4,000,000 bytes").first
    assert _longest_wait(visit, row) < 2
    visit.page.click("button[aria-label^='Close ']")


def _longest_wait(visit: CountingPage, row: Any) -> float:
    """Return the longest time that the page took to answer while something was awaited."""
    longest, end = 0.0, time.monotonic() + PATIENCE / 1000
    while not row.count():
        start = time.monotonic()
        assert start < end, visit.page.inner_text(".result .head")
        visit.page.evaluate("new Promise(requestAnimationFrame)")
        longest = max(longest, time.monotonic() - start)
        time.sleep(0.02)
    return longest


def test_what_takes_long_can_be_stopped(visit: CountingPage) -> None:
    page = visit.page
    page.click("button.new")
    visit.paste(HEAD + '- {repeat: {times: 16000, index: i}, sequence: [{linear: "${8 + i}"}, {linear: 8}]}\n')
    page.locator("header .stop").click(timeout=PATIENCE)
    page.locator(".state", has_text="Stopped").wait_for()
    page.click("button[aria-label^='Close ']")
    visit.open_spec("resnet34")  # of a new worker
    visit.total("params", "21,797,672")


def test_a_second_visit_needs_no_network(chromium: Any, site: Served) -> None:
    visited = CountingPage(chromium, site)
    visited.total("params", "82,826")
    visited.page.evaluate("navigator.serviceWorker.ready")
    visited.page.reload()
    visited.total("params", "82,826")
    asked = len(site.asked)
    visited.context.set_offline(True)
    visited.page.reload()
    visited.open_spec("resnet34")
    visited.total("params", "21,797,672")
    # browsers look for a newer service worker by themselves
    assert set(site.asked[asked:]) <= {f"{SUBPATH}sw.js"} and all(path.startswith(SUBPATH) for path in site.asked)
    visited.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_nothing_serious_stands_in_anyones_way(width: int, scheme: str, chromium: Any, site: Served) -> None:
    if not AXE.is_file():
        pytest.skip("needs axe-core in web")
    visited = CountingPage(chromium, site, width=width, color_scheme=scheme)
    visited.open_spec("resnet18")
    visited.total("params", "11,689,512")
    page = visited.page
    page.evaluate(AXE.read_text())
    found = _violations(page)
    if width < 760:
        page.click("[data-side=result]")
    for panel in ("graph", "memory", "settings", "compare", "about", "run", "layers"):
        visited.panel(panel)
        page.locator(f"#panel[aria-busy=false][aria-labelledby=tab-{panel}]").wait_for(timeout=PATIENCE)
        found += [f"{panel}: {each}" for each in _violations(page)]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), panel
    page.locator("table.layers button.n >> visible=true").first.click()
    page.locator("#working h2").wait_for()
    found += [f"working: {each}" for each in _violations(page)]
    page.keyboard.press("Escape")
    for name in ("open", "save"):
        page.click(f"header .{name}")
        page.locator(f"#{name}[open]").wait_for()
        found += [f"{name}: {each}" for each in _violations(page)]
        page.keyboard.press("Escape")
    assert not found, "\n".join(found)
    visited.close()


def _violations(page: Any) -> list[str]:
    """Return the findings of axe that are serious or critical."""
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0].get('failureSummary', '')[:300]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def test_the_keyboard_is_enough(visit: CountingPage) -> None:
    page = visit.page
    page.locator("header .open").focus()
    page.keyboard.press("Enter")
    page.locator("#open [data-spec]").first.wait_for(timeout=PATIENCE)
    page.keyboard.type("lenet5")
    page.keyboard.press("Enter")
    visit.total("params", "60,840")
    page.locator(".cm-content").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")  # Escape, then Tab leaves the editor
    assert page.evaluate("!document.activeElement.closest('.cm-editor')")
    page.locator("#tab-layers").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-graph"
    page.locator(".canvas svg").wait_for()
