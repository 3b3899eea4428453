"""Every operation has a lowering, or the reason for having none, or is a no-op in inference."""

from __future__ import annotations

import pytest

from netcalc.engine.lower.elementwise import lower_elementwise
from netcalc.engine.lower.registry import LOWERINGS, find_lowering
from netcalc.numerics.kernels import UFUNCS
from netcalc.ops import OPERATIONS, every

EVERY = every()


@pytest.mark.parametrize("name", EVERY)
def test_an_operation_has_a_lowering_or_a_reason_or_is_a_no_op(name: str) -> None:
    op = EVERY[name]
    facts = {
        "lowering": find_lowering(op) is not None,
        "reason": op.kernel_suffices is not None,
        "no-op": op.no_op_in_inference,
    }
    assert sum(facts.values()) == 1, facts


def test_the_table_names_operations_and_their_lowerings() -> None:
    assert set(LOWERINGS.names()) <= set(OPERATIONS.names())
    assert LOWERINGS.missing(LOWERINGS.names()) == ()


def test_no_lowering_is_named_that_a_trait_gives() -> None:
    assert not [name for name in LOWERINGS.names() if EVERY[name].view or LOWERINGS.get(name) is lower_elementwise]


@pytest.mark.parametrize("name", [name for name, op in EVERY.items() if op.elementwise and not op.no_op_in_inference])
def test_a_lowering_is_found_by_class_and_by_instance(name: str) -> None:
    op = EVERY[name](**EVERY[name].example.attrs)
    assert find_lowering(op) is find_lowering(EVERY[name]) is lower_elementwise


def test_operations_that_combine_have_a_ufunc() -> None:
    assert UFUNCS.missing(name for name, op in EVERY.items() if op.combines) == ()


def test_reasons_say_why() -> None:
    reasons = [op.kernel_suffices for op in EVERY.values() if op.kernel_suffices is not None]
    assert all(len(reason.split()) > 3 for reason in reasons)
