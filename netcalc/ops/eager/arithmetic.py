"""Eager execution of :mod:`netcalc.ops.arithmetic`: which gradients are the gradient of the result itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import equal
from netcalc.ops.backward import BackwardCall, Source
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


def _as_result(call: EagerCall, source: Source) -> bool:
    """Return True for an operand of the type of the result, over which nothing is summed."""
    if not isinstance(source, int):
        return False
    operand, result = call.input(source), call.outputs[0]
    alike = operand.rank == result.rank and all(map(equal, operand.shape, result.shape))
    return alike and operand.dtype == result.dtype


@eager("add")
class AddEager(Eager):
    """The gradient of each operand is that of the result."""

    def passes_on(self, op: Any, call: EagerCall, source: Source) -> bool:
        return _as_result(call, source)


@eager("sub")
class SubEager(Eager):
    """The gradient of the first operand is that of the result."""

    def passes_on(self, op: Any, call: EagerCall, source: Source) -> bool:
        return source == 0 and _as_result(call, source)


@eager("div")
class DivEager(Eager):
    """The gradient of a divisor takes the quotient by it, negated, and the product with the gradient."""

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        return (Moment((call.like("quotient"), call.like("negated")) if back.wants(1) else ()),)


@eager("pow")
class PowEager(Eager):
    """A power less by one, and that times the exponent."""

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        return (Moment((call.like("power"), call.like("derivative"))),)
