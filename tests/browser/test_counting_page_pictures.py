"""Pictures of the page that counts in the browser; ``pytest --update`` writes those of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.counting_page import CountingPage
from tests.browser.pictures import shrink
from tests.browser.static_server import Served

PICTURES = Path(__file__).parent.parent.parent / "docs/in-browser"
NETWORK = """netcalc: 1
name: small
dims: {batch: 1}
inputs:
  image: [batch, 3, 32, 32]
layers:
  - {name: conv1, conv2d: {out: 32, kernel: 3, padding: 1}}
  - relu
  - {name: pool, max_pool2d: {kernel: 2}}
  - flatten
  - {name: head, linear: 10}
"""


def test_pictures_of_the_documentation(
    chromium: Any, site: Served, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    folder = PICTURES if pytestconfig.getoption("--update") else tmp_path
    visited = CountingPage(chromium, site)
    visited.total("params", "82,826")
    visited.paste(NETWORK)
    visited.page.keyboard.press("ControlOrMeta+Home")
    visited.total("params", "82,826")
    visited.page.locator(".inlay").nth(4).wait_for()
    visited.page.click(".total[data-figure=params] button.n")
    visited.page.locator("#working h2").wait_for()
    _take(visited, folder / "counted.png")
    visited.page.keyboard.press("Escape")
    visited.paste(NETWORK.replace("kernel: 2", "kernal: 2"))
    visited.page.locator(".problems .fix").wait_for()
    visited.page.mouse.move(2, 2)
    _take(visited, folder / "problem.png")
    visited.close()
    narrow = CountingPage(chromium, site, width=390, color_scheme="dark")
    narrow.open_spec("resnet34")
    narrow.total("params", "21,797,672")
    narrow.page.click("[data-side=result]")
    narrow.panel("graph")
    narrow.page.locator(".canvas svg").wait_for()
    _take(narrow, folder / "narrow.png")
    narrow.close()
    taken = sorted(path.name for path in folder.glob("*.png"))
    assert taken == sorted(path.name for path in PICTURES.glob("*.png"))
    page = (PICTURES.parent / "in-browser.md").read_text()
    assert all(f"in-browser/{name}" in page for name in taken)


def _take(visited: CountingPage, path: Path) -> None:
    visited.page.wait_for_timeout(300)
    path.parent.mkdir(exist_ok=True)
    visited.page.screenshot(path=path)
    shrink(path)
