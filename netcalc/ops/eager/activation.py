"""Eager execution of :mod:`netcalc.ops.activation`: activations that are several kernels, or return a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.activation import GELU
from netcalc.ops.backward import BackwardCall, Saved, Source
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("logsigmoid")
class LogSigmoidEager(Eager):
    """The kernel returns exponentials too."""

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        return back.saved_input("self"), back.saved_kept("buffer", *call.input().shape)

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

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        return back.saved_input("self"), back.saved_kept("other", *call.input().shape)

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        magnitude, divisor = call.like("magnitude"), call.like("divisor")
        return Moment((magnitude, divisor), outputs=False), Moment((divisor,))


@eager("quick_gelu")
class QuickGELUEager(Eager):
    """Scaled input, its sigmoid, product."""

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        return back.saved_input("self"), back.saved_kept("result", *call.input().shape)

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        scaled, gate = call.like("scaled"), call.like("gate")
        return Moment((scaled, gate), outputs=False), Moment((gate,))


@eager("gelu")
class GELUEager(Eager):
    """A single kernel, or half the input times one more than a tanh of the input and its cube."""

    def saves(self, op: GELU, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        if not op.composed:
            return None
        return self._kept_of_tanh(call, back) if op.approximate == "tanh" else self._kept_of_erf(call, back)

    def _kept_of_tanh(self, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        names = "result", "half", "other"
        return back.saved_input("self"), *(back.saved_kept(name, *call.input().shape) for name in names)

    def _kept_of_erf(self, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        names = "scaled", "half", "other"
        return tuple(back.saved_kept(name, *call.input().shape) for name in names)

    def moments(self, op: GELU, call: EagerCall) -> Sequence[Moment]:
        if not op.composed:
            return (Moment(),)
        half, inner, outer = map(call.like, ("half", "inner", "tanh"))
        return Moment((half, inner, outer), outputs=False), Moment((half, outer))

    def backward_moments(self, op: GELU, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        if not op.composed:
            return (Moment(),)
        # of both factors; later ones have memory that is released by then
        return Moment((call.like("half"), call.like("other")), outputs=False), Moment()


@eager("identity")
class IdentityEager(Eager):
    """The input itself."""

    def passes_on(self, op: Any, call: EagerCall, source: Source) -> bool:
        return True
