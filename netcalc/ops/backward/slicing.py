"""Backward passes of :mod:`netcalc.ops.slicing`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._movement import moved
from netcalc.ops.slicing import Gather, IndexSelect

moved("slice", "select", rule="∂L/∂x = g at the indices, 0 elsewhere")
moved("roll", rule="∂L/∂x = g, shifted back")
moved("flip", rule="∂L/∂x = g, reversed")


@backward("gather", "index_select")
class LookedUpBackward(Backward):
    """A sum into the positions that were read."""

    rule = ("∂L/∂x = Σ g, added to the positions that the index holds",)

    def saves(self, op: Gather | IndexSelect, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("index", 1),) if call.present(1) else ()

    def cost(self, op: Gather | IndexSelect, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("add", "scattered gradient", elements=call.outputs[0].elements),)
