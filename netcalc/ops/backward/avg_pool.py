"""Backward passes of :mod:`netcalc.ops.avg_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.opdef import Term
from netcalc.ops.avg_pool import AvgPooling
from netcalc.ops.backward import Backward, BackwardCall, backward


@backward("avg_pool1d", "avg_pool2d", "avg_pool3d")
class AvgPoolingBackward(Backward):
    """Shares of the gradient of each window, added to its elements.

    As PyTorch, the forward pass keeps the input, of which the product needs the shape alone.
    """

    rule = ("∂L/∂x = Σ g/k over the windows that hold the element, k being the divisor of the window",)
    saved = ("self",)

    def cost(self, op: AvgPooling, call: BackwardCall) -> Sequence[Term]:
        results = op.results(call.outputs[0])
        return (
            Term.of("div", "share of gradient", **results),
            Term.of("add", "gradient of sum", **results, taps=product(op.kernel)),
        )
