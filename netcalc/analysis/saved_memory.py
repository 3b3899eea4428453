"""Memory that a forward pass keeps for the backward pass, and the operations that keep it."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.options import AttentionKernel
from netcalc.results import recorded


class SavedBy(NamedTuple):
    """Tensors that the operations of one name keep; memory that several keep counts for the first."""

    op: str
    tensors: int
    """Number of distinct memories, those of parameters and buffers left out."""
    bytes: int


@recorded("attention", "mode", "loss", "ideal", "eager", "operations")
class SavedMemory(NamedTuple):
    """Bytes that are kept for the gradients of all parameters that are trained."""

    attention: AttentionKernel
    """Kernel of attention under eager execution."""
    mode: str
    """Mode of the operations: train, or eval if it was asked for."""
    loss: bool
    """True if the pass ends in the loss of the spec."""
    ideal: int
    """If each operation is one kernel, as netcalc's own tape keeps them."""
    eager: int
    """As PyTorch keeps them."""
    operations: tuple[SavedBy, ...]
    """Under eager execution, the most bytes first."""
    ideal_operations: tuple[SavedBy, ...] = ()
    """If each operation is one kernel, the most bytes first."""
