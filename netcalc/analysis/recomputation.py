"""Parts of a network that are computed again in the backward pass instead of being kept."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import CallNode


class Recomputation(NamedTuple):
    """Layers of which the inputs alone are kept, those of ``every`` layers in a row; or the core of attention.

    A layer is an iteration of an outermost repeat, or a call of a block whose name ends in a number.
    """

    every: int = 0
    selective: bool = False

    @property
    def unit(self) -> int:
        """Number of layers that are computed again together."""
        return max(1, self.every)

    def covers(self, node: CallNode) -> bool:
        """Return True for a call whose iterations are layers that are computed again."""
        return self.every > 0 and (node.start is not None or node.name.rpartition(".")[2].isdecimal())


NO_RECOMPUTATION = Recomputation()


def recomputation(text: str) -> Recomputation:
    """Return what is computed again: ``none``, ``selective``, ``full``, or ``every:k`` for k layers at a time.

    Raises:
        NetcalcError: E502 for any other text.
    """
    name, _, number = text.partition(":")
    if name == "every" and number.isdecimal() and int(number) > 0:
        return Recomputation(int(number))
    known = {"none": NO_RECOMPUTATION, "selective": Recomputation(selective=True), "full": Recomputation(1)}
    if text not in known:
        hint = "none, selective, full, or every:4 for the inputs of every fourth layer"
        raise NetcalcError(Diagnostic("E502", f"--recompute {text}", hint=hint))
    return known[text]
