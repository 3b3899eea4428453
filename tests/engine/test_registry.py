"""Every operation has a lowering or a reason for having none."""

from __future__ import annotations

from netcalc.engine.lower.registry import LOWERINGS, NO_LOWERING
from netcalc.ops import OPERATIONS


def test_every_operation_has_a_lowering_or_a_reason() -> None:
    operations = set(OPERATIONS.names())
    assert LOWERINGS.missing(operations) == ()
    assert set(LOWERINGS.names()) & set(NO_LOWERING) == set()
    assert set(LOWERINGS.names()) | set(NO_LOWERING) == operations


def test_reasons_are_given() -> None:
    assert all(len(reason.split()) > 3 for reason in NO_LOWERING.values())
    assert len(set(NO_LOWERING.values())) > 15
