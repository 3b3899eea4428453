"""Eager execution of :mod:`netcalc.ops.class_loss`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.backward import BackwardCall
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("cross_entropy")
class CrossEntropyEager(Eager):
    """A log-softmax and the loss of its result, whose gradient has the size of the scores too."""

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        return (Moment((call.like("gradient of log-probabilities", call.input()),)),)
