"""Layout of tensors: the store, strides and type of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from netcalc.analysis.strides import dense
from netcalc.engine.graph import Tensor
from netcalc.engine.storage import Slot, Store


class Layout:
    """Slots of the tensors of a graph.

    A tensor gets a store of its own in the arena (:meth:`allocate`), is a view of another tensor's store
    (:meth:`alias`), or is computed once and kept outside the arena (:meth:`persist`).
    """

    def __init__(self) -> None:
        self._slots: dict[Tensor, Slot] = {}
        #: Stores of tensors that are computed once, from constants alone.
        self.persistent: list[Store] = []
        #: Stores whose content is the same in every run; they are not in the arena.
        self.constant_stores: set[Store] = set()

    def slot(self, tensor: Tensor) -> Slot:
        """Return the slot of a tensor."""
        return self._slots[tensor]

    def find(self, tensor: Tensor) -> Slot | None:
        """Return the slot of a tensor, None if it has none yet."""
        return self._slots.get(tensor)

    def is_constant(self, slot: Slot) -> bool:
        """Return True if the content of the slot is the same in every run."""
        return slot.store in self.constant_stores

    def allocate(self, tensor: Tensor, order: Sequence[int] | None = None) -> Slot:
        """Give a tensor a store in the arena, its axes in this order in memory, the innermost last."""
        slot = self._slots[tensor] = self.temporary(tensor.shape, tensor.dtype, order)
        return slot

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Sequence[int] | None = None) -> Slot:
        """Return a slot in the arena for a result between steps that is no tensor of the program."""
        return new_slot(shape, dtype, order)

    def alias(self, tensor: Tensor, slot: Slot) -> None:
        """Make a tensor a view of another one's store."""
        self._slots[tensor] = slot

    def persist(self, tensor: Tensor) -> Slot:
        """Give a tensor that is computed once a store outside the arena."""
        slot = self.allocate(tensor)
        self.keep(slot)
        return slot

    def keep(self, slot: Slot) -> None:
        """Put the store of a slot, which is computed once, outside the arena."""
        self.persistent.append(slot.store)
        self.constant_stores.add(slot.store)


def new_slot(shape: tuple[int, ...], dtype: np.dtype[Any], order: Sequence[int] | None = None) -> Slot:
    """Return a slot without gaps in a store of its own."""
    return Slot(Store(math.prod(shape) * dtype.itemsize), shape, dense(shape, dtype.itemsize, order), dtype)
