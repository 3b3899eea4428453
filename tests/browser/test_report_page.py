"""The page of ``netcalc report`` in a browser."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc

#: Boxes of the elements that share a parent and overlap, of parts of a page that stand beside one another.
OVERLAPS = """() => {
  const found = []
  const parents = 'main, main > section, .cards, .pair, .sides, .tools, .title, tr, .legend'
  for (const parent of document.querySelectorAll(parents)) {
    const placed = [...parent.children].map((e) => [e, e.getBoundingClientRect()])
    const boxes = placed.filter(([, b]) => b.width && b.height)
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i][1], boxes[j][1]]
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
      if (x > 1 && y > 1) found.push(boxes[i][0].outerHTML.slice(0, 80) + ' / ' + boxes[j][0].outerHTML.slice(0, 80))
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window')
  return found
}"""
EIGHT = ("mlp", "resnet50", "gpt2", "vit_b_16", "efficientnet_b0", "llama-3.1-405b", "lstm", "t5-small")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("pages")

    def write(*models: Any, **options: Any) -> Path:
        file = folder / f"{len(list(folder.iterdir()))}.html"
        netcalc.report(*models, **options).save(file)
        return file

    return write


def test_a_click_on_a_number_opens_its_working(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("resnet18", device="h100", signal=False))
    assert page.locator("main > section").evaluate_all("all => all.map((each) => each.id)") == [
        *("about", "graph", "layers", "memory", "time")
    ]
    page.click("#layers tr[data-path=conv1] button.n[title='9,408']")
    assert "64·3·7·7" in page.inner_text("#working").replace(",", "")  # parameters of 7×7 filters
    assert page.url.endswith("#layer=0:conv1")
    page.keyboard.press("Escape")
    assert page.is_hidden("#working")
    page.click("#time .card button.n")
    assert "bandwidth" in page.inner_text("#working")


def test_the_table_is_sorted_searched_and_copied(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("resnet18"))
    page.click("#layers th button[data-key=params]")
    first = page.locator("#layers tbody tr").first
    assert first.get_attribute("data-path") == "layer4.0.conv2"  # 512·512·9, as are two others
    page.fill("#layers input", "layer1 conv2d")
    assert page.locator("#layers tbody tr").count() == 2
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }")
    page.click("#layers button.copy")
    rows = list(csv.DictReader(io.StringIO(page.evaluate("window.copied"))))
    assert [(row["path"], row["params"]) for row in rows] == [("layer1.0.conv1", "36864"), ("layer1.0.conv2", "36864")]


def test_blocks_open_and_close_and_are_found(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("gpt2"))
    page.click("#graph button:has-text('Close all')")
    closed = page.locator("#graph .node").count()
    assert "×12" in page.inner_text("#graph .canvas")
    block = page.locator("#graph .node[aria-expanded=false]").first
    block.focus()
    page.keyboard.press("Enter")
    assert page.locator("#graph .node").count() > closed
    page.fill("#graph input", "gelu")
    assert "gelu" in page.text_content("#graph .found").lower()
    width = page.locator("#graph svg").bounding_box()["width"]
    page.click("#graph button[aria-label='Zoom in']")
    assert page.locator("#graph svg").bounding_box()["width"] > 1.2 * width


def test_a_fragment_opens_a_layer(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("resnet18"), fragment="#layer=0:layer1.0.conv1")
    assert page.inner_text("#working h2") == "layer1.0–1.conv1"


def test_the_page_is_dark_and_prints(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("mlp", signal=True), dark=True)
    color = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(color)
    page.click("button.theme")
    assert page.evaluate(color) == "rgb(255, 255, 255)" != dark
    page.emulate_media(media="print")
    assert page.is_hidden("nav") and page.is_hidden("#layers .tools") and page.is_visible("#signal svg")
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_overlaps(width: int, written: Callable[..., Path], opened: Callable[..., Any], tmp_path: Path) -> None:
    for name in EIGHT:
        page = opened(written(name), width=width, dark=width == 390)
        assert page.evaluate(OVERLAPS) == [], name
        assert page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
    assert opened(written("resnet18", "resnet34", device="h100"), width=width).evaluate(OVERLAPS) == []


def test_long_specs_and_large_models_load_quickly(
    written: Callable[..., Path], opened: Callable[..., Any], tmp_path: Path
) -> None:
    lines = "\n".join(f"  - {{name: l{place}, linear: 8}}" for place in range(1000))
    long = tmp_path / "long.yaml"
    long.write_text(f"netcalc: 1\nname: long\ninputs: {{x: [1, 8]}}\nlayers:\n{lines}\n", encoding="utf-8")
    page = opened(written(long))
    assert page.locator("#layers tbody tr").count() == 1000
    opened(written("llama-3.1-405b"))
    file = written("gpt3-175b")
    start = time.perf_counter()
    opened(file)
    assert time.perf_counter() - start < 2


def test_hostile_names_stay_text(written: Callable[..., Path], opened: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "hostile.yaml"
    text = "<img src=x onerror=console.log(1)></script><script>console.log(2)</script>"
    file.write_text(f'netcalc: 1\nname: "{text}"\nabout: "{text}"\ninputs: {{x: [1, 8]}}\nlayers: [{{linear: 4}}]\n')
    page = opened(written(file))
    assert page.inner_text("h1") == text and page.locator("main img").count() == 0
