"""Backward passes of :mod:`netcalc.ops.expand`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.backward._broadcast import summing


@backward("expand", "tile")
class RepeatedBackward(Backward):
    """A sum over the copies of each element."""

    rule = ("∂L/∂x = Σ g, over the copies of each element",)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return summing(call.outputs[0], call.input(), "sum over copies")


@backward("repeat_interleave")
class RepeatInterleaveBackward(RepeatedBackward):
    """A sum over the copies of each element; with a list of numbers, they are added to their places, as by PyTorch."""

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        if len(op.repeats) == 1:
            return summing(call.outputs[0], call.input(), "sum over copies")
        return (Term.of("add", "sum over copies", elements=call.outputs[0].elements),)
