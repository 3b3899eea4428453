"""Backward passes of :mod:`netcalc.ops.fourier`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Context, Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.fourier import Fourier


@backward("fourier")
class FourierBackward(Backward):
    """The same transform of the gradient: the matrix of cosines of Σ j·k/n is symmetric."""

    rule = ("∂L/∂x = Re DFT(g)",)

    def cost(self, op: Fourier, call: BackwardCall) -> Sequence[Term]:
        return op.cost(Context(), [call.input()], call.outputs)
