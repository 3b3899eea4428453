"""Eager execution of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.linear import Linear


@eager("linear")
class LinearEager(Eager):
    """Kernel that takes a copy of an input with gaps and several leading axes, and then adds the bias on its own."""

    def moments(self, op: Linear, call: EagerCall) -> Sequence[Moment]:
        if call.input().rank < 3 or call.contiguous[0]:
            return (Moment(),)
        copy = Moment((call.like("contiguous input", call.input()),))
        biased = call.has_param("bias") or call.present(2)
        return (copy, Moment((call.like("product"),))) if biased else (copy,)
