"""Backward passes of :mod:`netcalc.ops.fold`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.backward._movement import moved
from netcalc.ops.fold import Unfold


@backward("unfold")
class UnfoldBackward(Backward):
    """The gradients of the columns, added into an image as ``fold`` does."""

    rule = ("∂L/∂x = Σ g over the places of an element in the columns, as fold computes it",)

    def cost(self, op: Unfold, call: BackwardCall) -> Sequence[Term]:
        *batch, rows, columns = call.outputs[0].shape
        return (Term.of("add", "overlap", batch=batch[0] if batch else 1, rows=rows, windows=columns),)


moved("fold", rule="∂L/∂x = g of the element of the image to which it was added, as unfold copies it")
