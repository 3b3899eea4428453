"""Backward passes of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.dropout import Dropout, StochasticDepth


@backward("dropout", "stochastic_depth")
class DropBackward(Backward):
    """The mask of the forward pass; the identity in inference.

    Elements that are dropped by themselves leave a bool mask, as in ``native_dropout``; units of several elements
    leave the scaled mask, which broadcasts.
    """

    rule = ("∂L/∂x = g/(1 − p) where x was kept, else 0; in inference g",)

    def saves(self, op: Dropout | StochasticDepth, call: BackwardCall) -> Sequence[Saved]:
        if not call.training:
            return ()
        if isinstance(op, Dropout) and not op.channelwise:
            return (call.saved_kept("result1", *call.input().shape, dtype="bool"),)
        return (call.saved_kept("other", *op.masked(call.input()).shape),)

    def cost(self, op: Dropout | StochasticDepth, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("mul", "scale", elements=call.input().elements),) if call.training else ()
