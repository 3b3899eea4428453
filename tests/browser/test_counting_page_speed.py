"""Size of the page that counts in the browser, time to its first answer, and to the answer after an edit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.browser.conftest import DIST
from tests.browser.counting_page import CountingPage
from tests.browser.static_server import Served

RECORD = Path(__file__).parent / "counting_page.json"
#: Bytes of the folder, and milliseconds of answers.
BYTES, FIRST, EDIT = 20_000_000, 6_000, 300
_ANSWERS = "performance.getEntriesByName('answer').length"
_LAST = "performance.getEntriesByName('answer').at(-1).duration"


def test_the_page_is_small() -> None:
    if not DIST.is_dir():
        pytest.skip("the page is not built: python web/build.py")
    assert page_bytes() <= BYTES


def test_times_are_measured_on_demand(chromium: Any, site: Served, pytestconfig: pytest.Config) -> None:
    """Keep a record of a run; times depend on what else a machine does."""
    if not pytestconfig.getoption("--update"):
        pytest.skip("pytest --update measures, on a machine without other work")
    first, edits = [_first_answer(chromium, site) for _ in range(3)], []
    visited = CountingPage(chromium, site)
    visited.open_spec("resnet34")
    visited.total("params", "21,797,672")
    visited.page.locator(".cm-line", has_text="dims: {").first.click()
    visited.page.keyboard.press("End")
    visited.page.keyboard.press("ArrowLeft")  # behind the width
    for key in ("1", "Backspace", "2", "Backspace", "3"):
        before = visited.page.evaluate(_ANSWERS)
        visited.page.keyboard.press(key)
        while visited.page.evaluate(_ANSWERS) == before:
            visited.page.wait_for_timeout(20)
        edits.append(visited.page.evaluate(_LAST))
    visited.close()
    found = {"bytes": page_bytes(), "first answer, ms": round(min(first)), "edit, ms": round(median(edits))}
    machine = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "chromium": chromium.version}
    RECORD.write_text(json.dumps({**found, **machine}, indent=2) + "\n")


def test_answers_came_soon() -> None:
    record = json.loads(RECORD.read_text())
    assert record["bytes"] <= BYTES and record["first answer, ms"] <= FIRST and record["edit, ms"] <= EDIT


def _first_answer(chromium: Any, site: Served) -> float:
    """Return the milliseconds to the first answer in a fresh profile."""
    visited = CountingPage(chromium, site)
    visited.total("params", "82,826")
    time: float = visited.page.evaluate(_LAST)
    visited.close()
    return time


def page_bytes() -> int:
    """Return the bytes of all files of the page."""
    return sum(path.stat().st_size for path in DIST.rglob("*") if path.is_file())
