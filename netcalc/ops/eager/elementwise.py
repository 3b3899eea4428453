"""Eager execution of :mod:`netcalc.ops.elementwise`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.backward import BackwardCall
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("sqrt")
class SqrtEager(Eager):
    """The result twice, by which the gradient is divided."""

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        return (Moment((call.like("divisor"),)),)
