"""netcalc in the browser, as ``python web/build.py`` builds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.counting_page import CountingPage
from tests.browser.static_server import Served


@pytest.fixture(scope="module")
def visit(chromium: Any, site: Served) -> Iterator[CountingPage]:
    visited = CountingPage(chromium, site)
    yield visited
    visited.close()


def test_a_shipped_spec_is_found_and_counted(visit: CountingPage) -> None:
    visit.open_spec("resnet34")
    visit.total("params", "21,797,672")  # as torchvision prints
    visit.total("macs", "3,663,761,408")
    assert visit.page.locator("table.layers tbody tr").count() == 62


def test_a_pasted_spec_is_counted_as_it_is_edited(visit: CountingPage) -> None:
    visit.page.click("button.new")
    visit.paste("netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n- linear: 2\n")
    visit.total("params", "18")  # 8·2 + 2
    visit.page.keyboard.press("End")
    visit.page.keyboard.type("- linear: 3\n")
    visit.total("params", "27")  # and 2·3 + 3
    visit.page.click("table.layers tr[data-path='linear_1'] button.n[title='9']")
    visit.page.locator("#working h2", has_text="linear_1").wait_for()
    assert "3·2" in visit.page.inner_text("#working .part[data-title=parameters]").replace(" ", "")


def test_an_error_is_underlined_at_its_column_and_gone_after_its_fix(visit: CountingPage) -> None:
    page = visit.page
    page.click("button.new")
    visit.paste("netcalc: 1\ninputs: {x: [1, 3, 8, 8]}\nlayers:\n- {name: 'é𠀀', conv2d: {out: 4, kernal: 3}}\n")
    page.locator(".cm-lintRange-error").wait_for()
    assert page.locator(".cm-lintRange-error").inner_text() == "kernal"
    assert "E103 4:33" in page.inner_text(".problems li")  # characters, not units of UTF-16
    assert "earlier text" in page.inner_text(".state") and page.locator(".result.stale").count() == 1
    page.click(".problems .fix")
    visit.total("params", "112")  # 4·3·9 + 4
    assert "kernel: 3" in visit.text()
    assert page.locator(".cm-lintRange-error, .problems li, .result.stale").count() == 0
    assert page.locator(".inlay").all_inner_texts() == ["→ 1×4×6×6 · 112"]


def test_operations_and_attributes_are_completed(visit: CountingPage) -> None:
    page = visit.page
    page.click("button.new")
    visit.paste("netcalc: 1\ninputs: {x: [1, 3, 8, 8]}\nlayers:\n")
    page.keyboard.type("- conv2")
    page.locator(".cm-tooltip-autocomplete li", has_text="conv2d").first.wait_for()
    page.locator(".cm-completionInfo", has_text="out").wait_for()  # the page of the operation
    page.keyboard.press("Enter")
    page.keyboard.type("4")
    page.keyboard.press("Tab")
    page.keyboard.type("3")
    visit.total("params", "112")  # 4·3·9 + 4
    assert "- conv2d: {out: 4, kernel: 3}" in visit.text()
    page.hover(".cm-line:has-text('conv2d') >> text=conv2d")
    page.locator(".cm-tooltip-hover", has_text="4·3·3·3 = 108").wait_for()


def test_settings_change_the_figures(visit: CountingPage) -> None:
    page = visit.page
    visit.open_spec("llama-3-8b")
    visit.total("params", "8,030,261,248")
    visit.panel("settings")
    page.get_by_label("length", exact=True).press_sequentially("100", delay=700)  # counted at 1 and 10 meanwhile
    assert page.get_by_label("length", exact=True).input_value() == "100"
    page.get_by_label("layers", exact=True).fill("16")
    visit.total("params", "4,540,469,248")  # less 16 layers of 218,112,000
    page.get_by_label("dropout").fill("1.5")
    page.locator(".problems li", has_text="dropout").wait_for()
    assert page.locator(".result.stale").count() == 1 and "from 0 to 1" in page.inner_text("#panel")
    page.get_by_label("dropout").fill("")
    page.get_by_label("Quantization").fill("int8")
    # a byte for each weight of 16 layers and 4 for the scale of each row; embedding and output stay in bfloat16
    visit.total("weight_bytes", "5,594,030,080")
    page.get_by_label("Keep batch as a symbol").check()
    visit.total("macs", "batch")
    page.get_by_label("Keep batch as a symbol").uncheck()
    page.get_by_label("Convention").select_option("torch")
    page.locator(".state", has_text="Counted as torch does").wait_for()
    visit.panel("run")
    assert "--set length=100 --set layers=16" in page.inner_text("#panel")


def test_two_tabs_are_compared(visit: CountingPage) -> None:
    page = visit.page
    visit.open_spec("resnet34")
    visit.total("params", "21,797,672")
    visit.open_spec("resnet18")
    visit.total("params", "11,689,512")
    visit.panel("compare")
    page.locator("#other").select_option(label="resnet34")
    total = page.locator("#panel tr", has_text="Parameters").first
    total.locator("button.n[title='10,108,160']").click()  # 21,797,672 − 11,689,512
    page.locator("#working", has_text="21,797,672 - 11,689,512").wait_for()
    page.keyboard.press("Escape")
    visit.panel("layers")


def test_memory_and_its_working_follow_the_text(visit: CountingPage) -> None:
    page = visit.page
    page.click("button.new")
    visit.paste("netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n- linear: 2\n")
    visit.total("params", "18")
    visit.panel("memory")
    page.locator("#panel .legend button.n[title='72']").click()  # 18 of 4 bytes
    page.locator("#working output", has_text="72").first.wait_for()
    page.keyboard.press("Escape")
    page.click(".total[data-figure=params] button.n")
    page.locator("#working output", has_text="18").first.wait_for()
    page.evaluate("document.querySelector('.cm-content').focus()")
    page.keyboard.type("- linear: 3\n")
    page.locator("#working output", has_text="27").first.wait_for()
    page.keyboard.press("Escape")
    visit.panel("layers")
