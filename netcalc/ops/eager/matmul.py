"""Eager execution of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim, product
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager
from netcalc.ops.matmul import Matmul


@eager("matmul")
class MatmulEager(Eager):
    """A batched product copies an operand whose leading axes do not merge into one, as where they are broadcast."""

    def saves(self, op: Matmul, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        if min(call.input(0).rank, call.input(1).rank) < 3:
            return None
        saved: list[Saved] = []
        for index, name in enumerate(("self", "mat2")):
            if back.wants(1 - index):
                copy = call.copied(index, *self._shapes(call, index))
                saved.append(back.saved_input(name, index) if copy is None else back.saved_kept(name, *copy))
        return saved

    def _shapes(self, call: EagerCall, index: int) -> tuple[Sequence[Dim], Sequence[Dim]]:
        """Return the shapes that an operand takes: broadcast, and with its leading axes as one."""
        leading, matrix = call.outputs[0].shape[:-2], call.input(index).shape[-2:]
        return (*leading, *matrix), (product(leading), *matrix)

    def moments(self, op: Matmul, call: EagerCall) -> Sequence[Moment]:
        if min(call.input(0).rank, call.input(1).rank) < 3:
            return (Moment(),)
        copies: list[Work] = []
        for index, name in enumerate(("input", "other")):
            broadcast, merged = self._shapes(call, index)
            if call.copied(index, broadcast, merged) is not None:
                copies.append(call.work(f"copy of {name}", *broadcast))
        return (Moment(tuple(copies)),)

    def backward_moments(self, op: Matmul, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        copied = min(call.input(0).rank, call.input(1).rank) > 2 and back.wants(1)
        return (Moment((call.like("copy of other", call.input(1)),) if copied else ()),)
