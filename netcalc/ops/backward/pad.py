"""Backward passes of :mod:`netcalc.ops.pad`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._windows import padding_gradient
from netcalc.ops.pad import Pad


@backward("pad")
class PadBackward(Backward):
    """The gradient at the elements of the input, plus the gradients of the copies of each; 0 for removed elements.

    As PyTorch, the forward pass of the modes reflect and replicate keeps the input, whose shape alone matters.
    """

    rule = ("∂L/∂x = Σ g over the places of an element; 0 if it was removed",)

    def saves(self, op: Pad, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("self"),) if op.mode in ("reflect", "replicate") else ()

    def cost(self, op: Pad, call: BackwardCall) -> Sequence[Term]:
        if op.mode == "constant":
            return ()
        x, pads = call.input(), op.pads(call.input().rank)
        every = [pads.get(axis, (0, 0)) for axis in range(x.rank)]
        return padding_gradient(1, x.shape, call.outputs[0].shape, every, [*pads])
