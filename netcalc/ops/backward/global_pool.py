"""Backward passes of :mod:`netcalc.ops.global_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.global_pool import GlobalAvgPooling, GlobalMaxPooling


@backward("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")
class GlobalAvgPoolingBackward(Backward):
    """The same share of the gradient for all positions of a channel."""

    rule = ("∂L/∂x = g/n at each of the n positions of a channel",)

    def cost(self, op: GlobalAvgPooling, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("div", "share of gradient", elements=call.outputs[0].elements),)


@backward("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")
class GlobalMaxPoolingBackward(Backward):
    """The gradient of a channel for its largest element, or shares of it for equal largest elements."""

    rule = ("∂L/∂x = g/k at each of the k positions where x = y, else 0",)
    saved = ("self", "result")

    def cost(self, op: GlobalMaxPooling, call: BackwardCall) -> Sequence[Term]:
        x, y = call.input(), call.outputs[0]
        return (
            Term.of("compare", "largest elements", elements=x.elements),
            Term.of("add", "number of largest elements", **op.reductions(x)),
            Term.of("div", "share of gradient", elements=y.elements),
        )
