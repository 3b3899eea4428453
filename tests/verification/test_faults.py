"""Faults planted in the sources of operations: they are found, and leave nothing behind."""

from __future__ import annotations

import pytest

from netcalc import ops
from netcalc.numerics.kernels import KERNELS
from tests.exhaustive.faults import planted, summary
from tests.exhaustive.variations import variations


@pytest.mark.parametrize("kind", ["shape", "kernel", "promotion", "cost", "planned"])
def test_a_fault_is_planted_and_removed(kind: str) -> None:
    declared = ops.every()["global_avg_pool2d"]
    before = [declared.infer, declared.cost, KERNELS.get("global_avg_pool2d")]
    outcomes = list(planted("global_pool", [kind], seed=1))
    assert [(o.family, o.kind, o.found) for o in outcomes] == [("global_pool", kind, True)]
    assert [declared.infer, declared.cost, KERNELS.get("global_avg_pool2d")] == before


def test_a_fault_of_rules_kernels_and_plans_alike_is_found_by_values_alone() -> None:
    (outcome,) = planted("gated_units", ["alike"], seed=1)
    assert outcome.found and not outcome.found_without


def test_a_family_without_parameters_has_no_fault_of_them() -> None:
    assert not list(planted("softmax", ["parameter"], seed=1))
    assert summary([])["total"] == {"planted": 0, "found": 0, "without_values": 0}


def test_variations_change_attributes_types_and_mode() -> None:
    found = variations("max_pool2d")
    assert {case.training for case in found} == {False, True}
    assert len({case.op for case in found}) > 5
    assert {"float16", "float32"} <= {case.types[0].dtype for case in found if case.types[0] is not None}
