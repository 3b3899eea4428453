"""Backward pass of :mod:`netcalc.ops.rotary`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Context, Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.rotary import RotaryEmbedding


@backward("rotary_embedding")
class RotaryBackward(Backward):
    """Rotation of the gradient by the negative angles, from the same table."""

    rule = ("∂L/∂x = g rotated by −θ: (a·cos θ + b·sin θ, b·cos θ − a·sin θ) for each pair (a, b) of g",)

    def saves(self, op: RotaryEmbedding, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("positions", 1),) if call.present(1) else ()

    def cost(self, op: RotaryEmbedding, call: BackwardCall) -> Sequence[Term]:
        return op.cost(Context(), (call.input(),), call.outputs)
