"""Eager execution of :mod:`netcalc.ops.activation`: activations that are several kernels, or return a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("logsigmoid")
class LogSigmoidEager(Eager):
    """The kernel returns exponentials too."""

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        return (Moment((call.like("buffer"),)),)


@eager("tanhshrink")
class TanhshrinkEager(Eager):
    """tanh, and the difference."""

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        return (Moment((call.like("tanh"),)),)


@eager("softsign")
class SoftsignEager(Eager):
    """Absolute value, divisor, quotient."""

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        magnitude, divisor = call.like("magnitude"), call.like("divisor")
        return Moment((magnitude, divisor), outputs=False), Moment((divisor,))


@eager("quick_gelu")
class QuickGELUEager(Eager):
    """Scaled input, its sigmoid, product."""

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        scaled, gate = call.like("scaled"), call.like("gate")
        return Moment((scaled, gate), outputs=False), Moment((gate,))
