"""Eager execution of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.backward import declaration as backward_pass
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.linear import Linear


@eager("linear")
class LinearEager(Eager):
    """Kernel that takes a copy of an input with gaps and several leading axes, and then adds the bias on its own."""

    def saves(self, op: Linear, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        x = call.input()
        if x.rank < 3 or not back.wants("weight", 1):
            return None
        copy = call.copied(0, (product(x.shape[:-1]), x.shape[-1]))
        if copy is None:
            return None
        kept = backward_pass(op)
        assert kept is not None
        return [
            back.saved_kept("input", *copy, dtype=x.dtype) if saved.name == "input" else saved
            for saved in kept.saves(op, back)
        ]

    def moments(self, op: Linear, call: EagerCall) -> Sequence[Moment]:
        if call.input().rank < 3 or call.contiguous[0]:
            return (Moment(),)
        copy = Moment((call.like("contiguous input", call.input()),))
        biased = call.has_param("bias") or call.present(2)
        return (copy, Moment((call.like("product"),))) if biased else (copy,)
