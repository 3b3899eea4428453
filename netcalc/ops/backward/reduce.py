"""Backward passes of :mod:`netcalc.ops.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward


@backward("sum")
class SumBackward(Backward):
    """The gradient of a sum reaches each element unchanged."""

    rule = ("∂L/∂x = g, for each element that is summed",)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return ()


@backward("mean")
class MeanBackward(Backward):
    """The gradient of a mean, divided among its n elements."""

    rule = ("∂L/∂x = g/n",)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("div", "mean", outputs=call.outputs[0].elements),)
