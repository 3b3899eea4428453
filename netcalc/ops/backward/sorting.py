"""Backward passes of :mod:`netcalc.ops.sorting`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.sorting import Cummax, Cummin, Sort, Topk


@backward("cummax", "cummin")
class RunningBackward(Backward):
    """The gradients of all values that are one element add up at its place; the indices have none."""

    rule = ("∂L/∂x = Σ g of the values that are x",)

    def saves(self, op: Cummax | Cummin, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("self"), call.saved_output("indices", 1))

    def cost(self, op: Cummax | Cummin, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        return (Term.of("add", "sum at the place", elements=x.elements),) if x.rank else ()


@backward("topk", "sort")
class SortingBackward(Backward):
    """The gradient of each value goes back to the place of its element; the indices have none."""

    rule = ("∂L/∂x = g at the indices of the values, else 0",)

    def saves(self, op: Topk | Sort, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_output("indices", 1),)

    def cost(self, op: Topk | Sort, call: BackwardCall) -> Sequence[Term]:
        return ()
