"""Eager execution of :mod:`netcalc.ops.gated_units`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.gated_units import GLU


@eager("glu", "reglu", "geglu", "swiglu")
class GatedEager(Eager):
    """The activated half, a view of the other, and their product; torch's glu, with the gate second, is one kernel."""

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        if isinstance(op, GLU) and op.gate == "second":
            return (Moment(),)
        return (Moment((call.like("activated"),)),)
