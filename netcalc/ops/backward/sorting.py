"""Backward passes of :mod:`netcalc.ops.sorting`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.sorting import Sort, Topk


@backward("topk", "sort")
class SortingBackward(Backward):
    """The gradient of each value goes back to the place of its element; the indices have none."""

    rule = ("∂L/∂x = g at the indices of the values, else 0",)

    def saves(self, op: Topk | Sort, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_output("indices", 1),)

    def cost(self, op: Topk | Sort, call: BackwardCall) -> Sequence[Term]:
        return ()
