"""Lists of saved tensors of operations that keep many, each for some of the gradients."""

from __future__ import annotations

from netcalc.dims import Dim
from netcalc.ops.backward import BackwardCall, Saved


class SavedTensors:
    """Saved tensors of one operation; those that the kernel keeps have the precision of the state."""

    def __init__(self, call: BackwardCall) -> None:
        self.call = call
        self.saved: list[Saved] = []

    def keep(self, wanted: bool, name: str, *shape: Dim) -> None:
        if wanted:
            self.saved.append(self.call.saved_kept(name, *shape, dtype=self.call.outputs[1].dtype))

    def input(self, wanted: bool, name: str, index: int) -> None:
        if wanted and self.call.present(index):
            self.saved.append(self.call.saved_input(name, index))
