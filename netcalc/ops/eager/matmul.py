"""Eager execution of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager
from netcalc.ops.matmul import Matmul


@eager("matmul")
class MatmulEager(Eager):
    """A batched product copies an operand whose leading axes do not merge into one, as where they are broadcast."""

    def moments(self, op: Matmul, call: EagerCall) -> Sequence[Moment]:
        if min(call.input(0).rank, call.input(1).rank) < 3:
            return (Moment(),)
        leading = call.outputs[0].shape[:-2]
        copies: list[Work] = []
        for index, name in enumerate(("input", "other")):
            broadcast = (*leading, *call.input(index).shape[-2:])
            if not call.has_view(index, broadcast, (product(leading), *broadcast[-2:])):
                copies.append(call.work(f"copy of {name}", *broadcast))
        return (Moment(tuple(copies)),)
