"""Backward passes of :mod:`netcalc.ops.compare`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._broadcast import summing
from netcalc.ops.compare import MaskedFill, Where


@backward("where")
class WhereBackward(Backward):
    """The gradient for the branch that was taken."""

    rule = ("∂L/∂input = g where the condition is true, else 0", "∂L/∂other = 0 where the condition is true, else g")

    def saves(self, op: Where, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("condition"),)

    def cost(self, op: Where, call: BackwardCall) -> Sequence[Term]:
        wanted = [position for position in (1, 2) if call.wants(position)]
        return [term for position in wanted for term in summing(call.outputs[0], call.input(position))]


@backward("masked_fill")
class MaskedFillBackward(Backward):
    """The gradient of the elements that stayed."""

    rule = ("∂L/∂input = 0 where the mask is true, else g",)

    def saves(self, op: MaskedFill, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("mask", 1),)

    def cost(self, op: MaskedFill, call: BackwardCall) -> Sequence[Term]:
        return summing(call.outputs[0], call.input())
