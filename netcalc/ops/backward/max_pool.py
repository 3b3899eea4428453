"""Backward passes of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._windows import saved_indices


@backward("max_pool1d", "max_pool2d", "max_pool3d")
class MaxPoolingBackward(Backward):
    """Gradients of the windows, added to their largest elements.

    As PyTorch, the forward pass keeps the input too, of which the product needs the shape alone.
    """

    rule = ("∂L/∂x = Σ g of the windows whose maximum the element is; of equal elements the first is taken",)

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        return call.saved_input("self"), saved_indices(call)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("add", "gradient of maximum", **op.results(call.outputs[0])),)
