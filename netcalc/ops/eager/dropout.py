"""Eager execution of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.backward import BackwardCall, Saved, Source
from netcalc.ops.dropout import Dropout, StochasticDepth
from netcalc.ops.eager import Eager, EagerCall, eager


@eager("dropout", "stochastic_depth")
class DropEager(Eager):
    """A product with the scaled mask, which has the element type of the input on CPUs; nothing where p is 0."""

    def returns_input(self, op: Dropout | StochasticDepth) -> bool:
        return op.p == 0

    def passes_on(self, op: Dropout | StochasticDepth, call: EagerCall, source: Source) -> bool:
        return op.p == 0 or not call.training

    def saves(self, op: Dropout | StochasticDepth, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        if op.p == 0:
            return ()
        if not call.training or isinstance(op, StochasticDepth) or op.channelwise:
            return None
        return (back.saved_kept("other", *call.input().shape, dtype=call.mask_of_dropout),)
