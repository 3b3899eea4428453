"""Backward passes of :mod:`netcalc.ops.adaptive_pool`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import product
from netcalc.opdef import Term
from netcalc.ops.adaptive_pool import AdaptiveAvgPooling
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward.max_pool import MaxPoolingBackward
from netcalc.tensor_type import TensorType


@backward("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
class AdaptiveAvgPoolingBackward(Backward):
    """Shares of the gradient of each window, summed for each element.

    As PyTorch, the forward pass keeps the input, of which the product needs the shape alone; not so for a result of a
    single element, which is a mean.
    """

    rule = ("∂L/∂x = Σ g/k over the windows that hold the element, k being the number of elements of the window",)

    def saves(self, op: AdaptiveAvgPooling, call: BackwardCall) -> Sequence[Saved]:
        single = all(size == 1 for size in op.targets(op.sizes_of(call.input())))
        return () if single else (call.saved_input("self"),)

    def cost(self, op: AdaptiveAvgPooling, call: BackwardCall) -> Sequence[Term]:
        return average_gradient(op, call.input(), call.outputs[0])


def average_gradient(op: AdaptiveAvgPooling, x: TensorType, y: TensorType) -> tuple[Term, ...]:
    """Return the work of the gradient of averages ``y`` of the windows of ``x``."""
    channels = {"batch": op.batch_of(x), "channels": op.channels_of(x)}
    shared = op.covered(x, y) - product(op.sizes_of(x))
    return (
        Term.of("div", "share of gradient", elements=y.elements),
        Term.of("add", "gradient of sum", **channels, windows_less_one_each=shared),
    )


@backward("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
class AdaptiveMaxPoolingBackward(MaxPoolingBackward):
    """Gradients of the parts, added to their largest elements."""

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("add", "gradient of maximum", elements=call.outputs[0].elements),)
