"""Eager execution of :mod:`netcalc.ops.position`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.position import LearnedPositions


@eager("learned_positions")
class LearnedPositionsEager(Eager):
    """An embedding of the positions, whose rows are added."""

    def moments(self, op: LearnedPositions, call: EagerCall) -> Sequence[Moment]:
        length, features = call.input().shape[-2:]
        positions = call.work("positions", length, dtype="int64")
        return (Moment((positions, call.work("rows", length, features)) if op.add else (positions,)),)
