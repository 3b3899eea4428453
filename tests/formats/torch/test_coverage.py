"""The page of imported models against the record of the exhaustive check (``pytest --update`` writes it)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exhaustive.record import read
from tests.formats.torch.coverage import coverage_page
from tests.formats.torch.models import records

PAGE = Path(__file__).parents[3] / "docs" / "from-pytorch-coverage.md"


def test_page_is_that_of_the_record(request: pytest.FixtureRequest) -> None:
    page = coverage_page(read("imports")["result"])
    if request.config.getoption("--update"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page


def test_every_case_is_a_recorded_model() -> None:
    cases = read("imports")["result"]["cases"]
    assert cases.keys() <= records().keys()
    assert [name for name, found in cases.items() if found == "ok" and records()[name].flops is None] == []
