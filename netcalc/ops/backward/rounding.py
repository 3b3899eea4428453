"""Backward passes of :mod:`netcalc.ops.rounding`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import backward
from netcalc.ops.backward._elementwise import declare_flat
from netcalc.ops.backward._pairs import Pairs, Side, Stage
from netcalc.ops.backward.arithmetic import negation

declare_flat("floor", "ceil", "round", "trunc")


class _Remainder(Pairs):
    """The gradient itself for the dividend, and less the whole quotient times it for the divisor."""

    def kept(self, op: Any, stage: Stage) -> Sequence[Side]:
        return ("left", "right") if stage.wants_right else ()

    def work(self, op: Any, stage: Stage) -> Sequence[Term]:
        if not stage.wants_right:
            return ()
        return (
            stage.each("div", "quotient"),
            *((stage.each("add", "rounding"),) if op.name == "fmod" else ()),
            stage.each("mul", "gradient of divisor"),
            negation(stage),
        )


@backward("remainder")
class RemainderBackward(_Remainder):
    """The quotient is rounded down."""

    rule = ("∂L/∂a = g", "∂L/∂b = −g·⌊a/b⌋, summed over the axes along which the operand was broadcast")


@backward("fmod")
class FmodBackward(_Remainder):
    """The quotient is rounded towards zero."""

    rule = ("∂L/∂a = g", "∂L/∂b = −g·trunc(a/b), summed over the axes along which the operand was broadcast")
