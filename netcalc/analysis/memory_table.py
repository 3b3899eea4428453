"""Memory at several sizes: a row of totals for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from netcalc.dtypes import DType
from netcalc.options import Phase
from netcalc.results import Real, Result, recorded

#: Value of a dim or var.
Setting: TypeAlias = bool | int | Real | str | None


class MemoryPoint(NamedTuple):
    """Memory at sizes, in bytes; without it the reason why there is none."""

    sizes: Mapping[str, Setting]
    """Values of the dims and vars of the ranges."""
    weights: int | None = None
    """All parameters, as they are stored, with those of adapters."""
    buffers: int | None = None
    caches: Mapping[str, int] = {}
    """Caches and states, by convention."""
    activations: int | None = None
    """Peak of the ideal activations beside the caches; null in training."""
    gradients: int | None = None
    """Gradients of parameters at the peak of a step of training."""
    states: int | None = None
    """States of the optimizer, and a copy of the weights in higher precision."""
    saved: int | None = None
    """Tensors kept for the backward pass, at the peak."""
    temporaries: int | None = None
    """All else at the peak of a step of training."""
    totals: Mapping[str, int] = {}
    """All of these, by convention."""
    refused: str | None = None
    """Why the network does not have these sizes."""

    @property
    def total(self) -> int | None:
        """Bytes in all under the first convention."""
        return next(iter(self.totals.values()), None)

    @property
    def title(self) -> str:
        """The sizes in words: ``length=2048,batch=8``."""
        return ",".join(f"{name}={value}" for name, value in self.sizes.items())


@recorded("spec", "dtype", "phase", "ranges", "conventions", "points", "notes", name="memory-table")
@dataclass(frozen=True, slots=True)
class MemoryTable(Result):
    """Memory of a network over ranges of sizes."""

    spec: str
    """Name of the spec."""
    about: str
    dtype: DType
    """Element type of floating-point tensors, in which bytes are counted."""
    checkpoint_dtype: DType | None
    stored_as: str
    phase: Phase | None
    """With the options --phase and --training; null for a forward pass as the sizes say."""
    ranges: Mapping[str, Sequence[Setting]]
    """Values by name, the last range varying fastest."""
    conventions: tuple[str, ...]
    """Names of the conventions of caches."""
    points: tuple[MemoryPoint, ...]
    notes: tuple[str, ...] = ()
    """Remarks on what is counted."""
