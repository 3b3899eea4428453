"""Backward pass of :mod:`netcalc.ops.roi_align`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.roi_align import RoIAlign


@backward("roi_align")
class RoIAlignBackward(Backward):
    """The gradient of a bin spread over the neighbors of its samples; as in torchvision, boxes have none.

    As torchvision, the forward pass keeps the boxes alone, with the numbers of their images.
    """

    rule = (
        "∂L/∂input[j] = Σ g[i]·w[i, j]/sampling_ratio² over the samples of the bins i",
        "∂L/∂boxes = 0",
    )
    constants = frozenset({1})

    def saves(self, op: RoIAlign, call: BackwardCall) -> Sequence[Saved]:
        if call.input(1).rank == 2:
            return (call.saved_input("rois", 1),)
        return (call.saved_kept("rois", call.outputs[0].shape[0], 5),)

    def cost(self, op: RoIAlign, call: BackwardCall) -> Sequence[Term]:
        if not call.wants(0):
            return ()
        y = call.outputs[0]
        samples, channels = op.samples(y), y.shape[1]
        spread = {**samples, "channels": channels, "neighbors": 4}
        return (
            *op.placing(y),
            Term.of("div", "mean", elements=y.elements),
            Term.of("mul", "weights", **samples, neighbors=4),
            Term.of("mul", "gradient of input", **spread),
            Term.of("add", "gradient of input", **spread),
        )
