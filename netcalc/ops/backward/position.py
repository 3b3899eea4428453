"""Backward passes of :mod:`netcalc.ops.position`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.backward._broadcast import summing


@backward("learned_positions", "sinusoidal_positions")
class PositionsBackward(Backward):
    """Sums over the sequences that read a row; the rows are a slice of the table."""

    def derivatives(self, op: Any) -> tuple[str, ...]:
        of_input = "∂L/∂x = g" if op.add else "∂L/∂x = 0: only its length is read"
        if op.name == "sinusoidal_positions":
            return (of_input,)
        return of_input, "∂L/∂weight[offset + i] = Σ g over the axes before position i, and 0 in the other rows"

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        if not call.wants("weight"):
            return ()
        x = call.input()
        return summing(call.outputs[0], x.with_shape(*x.shape[-2:]), "gradient of weight")
