"""Backward passes of :mod:`netcalc.ops.position_bias`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.position_bias import T5PositionBias


@backward("relative_position_bias", "relative_position_lookup")
class RelativeBackward(Backward):
    """Sums over the pairs of positions that read a row."""

    rule = ("∂L/∂table[i] = Σ g over the pairs of positions with index i",)

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_parameter("indices", "relative_position_index"),)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("add", "sum of rows", elements=call.outputs[0].elements),)


@backward("t5_position_bias")
class T5Backward(Backward):
    """Sums over the pairs of positions in a bucket; of the inputs only the lengths are read."""

    rule = ("∂L/∂weight[i] = Σ g over the pairs of positions in bucket i",)

    def saves(self, op: T5PositionBias, call: BackwardCall) -> Sequence[Saved]:
        if not call.wants("weight"):
            return ()
        return (call.saved_kept("indices", *call.outputs[0].shape[2:], dtype="int64"),)

    def cost(self, op: T5PositionBias, call: BackwardCall) -> Sequence[Term]:
        if not call.wants("weight"):
            return ()
        return (Term.of("add", "sum of rows", elements=call.outputs[0].elements),)
