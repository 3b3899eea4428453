"""A sample of the hostile inputs; ``python -m tests.exhaustive hostile`` runs them all."""

from __future__ import annotations

import sys

import pytest

from tests.exhaustive.hostile import sampled
from tests.exhaustive.record import RECORDS, read
from tests.hostile.case import can_drop_privileges, problems, run
from tests.hostile.cases import all_cases

SAMPLE = [case.name for case in sampled(read("hostile")["result"])[::2]] if (RECORDS / "hostile.json").is_file() else []


#: Markup in texts through pictures and pages.
MARKUP = [name for name in all_cases() if "/markup/" in name]


@pytest.mark.skipif(sys.platform != "linux", reason="costs are read from /proc")
@pytest.mark.parametrize("name", dict.fromkeys((*SAMPLE, *MARKUP)))
def test_hostile_inputs_end_with_a_diagnostic_in_bounded_time_and_memory(name: str) -> None:
    case = all_cases()[name]
    if case.unprivileged and not can_drop_privileges():
        pytest.skip("needs a user without permissions")
    outcome = run(case)
    assert problems(case, outcome) == [], outcome.text[:2000]


def test_there_are_at_least_400_distinct_hostile_inputs() -> None:
    hostile = [case for case in all_cases().values() if case.code]
    inputs = {repr(case._replace(name="", code="")) for case in hostile}
    assert len(inputs) == len(hostile) >= 400
