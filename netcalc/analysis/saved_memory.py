"""Memory that a forward pass keeps for the backward pass, and the operations that keep it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from netcalc.analysis.saved import SavedTensor
from netcalc.options import AttentionKernel


class SavedBy(NamedTuple):
    """Tensors that the operations of one name keep; memory that several keep counts for the first."""

    op: str
    tensors: int
    """Number of distinct memories, those of parameters and buffers left out."""
    bytes: int


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


def by_operation(tensors: Iterable[SavedTensor]) -> tuple[SavedBy, ...]:
    """Return the distinct memory that tensors hold, without parameters and buffers, by the first that keeps it."""
    counted: set[int] = set()
    kept: dict[str, SavedBy] = {}
    for tensor in tensors:
        storage = tensor.storage
        if storage.parameter or id(storage) in counted:
            continue
        counted.add(id(storage))
        so_far = kept.get(tensor.op, SavedBy(tensor.op, 0, 0))
        kept[tensor.op] = SavedBy(tensor.op, so_far.tensors + 1, so_far.bytes + storage.nbytes)
    return tuple(kept.values())
