"""Backward passes of operations that other operations contain."""

from __future__ import annotations

from netcalc.opdef import Operation
from netcalc.ops.backward import Backward, BackwardCall, declaration
from netcalc.tensor_type import TensorType


def inner(op: Operation, type_: TensorType, call: BackwardCall) -> tuple[Backward, BackwardCall]:
    """Return the declaration of an operation inside another, on one tensor, and its call."""
    declared = declaration(op)
    assert declared is not None, op.name
    return declared, BackwardCall((type_,), (type_,), (), frozenset({0}), (True,), call.training)
