"""Eager execution of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("squared_relu")
class SquaredReLUEager(Eager):
    """relu, and its square."""

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        return (back.saved_kept("result", *call.input().shape),)

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        return (Moment((call.like("rectified"),)),)
