"""Backward passes of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.creation import Parameter


@backward("parameter")
class ParameterBackward(Backward):
    """The gradient of the tensor itself."""

    rule = ("∂L/∂parameter = g",)

    def cost(self, op: Parameter, call: BackwardCall) -> Sequence[Term]:
        return ()
