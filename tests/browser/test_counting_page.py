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
