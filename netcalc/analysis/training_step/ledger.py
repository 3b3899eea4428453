"""Memory of a step by storage: what is live, and which part of it is kept for the backward pass or is a gradient."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.analysis.layout import Storage


class Live(NamedTuple):
    """Bytes that are live at a moment, beside parameters, buffers and the states of an optimizer."""

    gradients: int
    """Of parameters."""
    kept: int
    """For the backward pass."""
    temporaries: int
    """All else: results that code still holds, gradients of activations, work buffers of kernels."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.gradients + self.kept + self.temporaries


class Ledger:
    """Storages that are live, each with the number of its holders, and of those that keep it for the backward pass."""

    def __init__(self) -> None:
        self._held: dict[Storage, int] = {}
        self._kept: dict[Storage, int] = {}
        self._live = self._kept_bytes = self.gradients = 0

    def hold(self, storage: Storage) -> None:
        """Hold a storage, once more if it is held."""
        if storage.parameter:
            return
        held = self._held.get(storage, 0)
        self._held[storage] = held + 1
        if not held:
            self._live += storage.nbytes

    def release(self, storage: Storage) -> None:
        """Release a storage once."""
        if storage.parameter:
            return
        held = self._held[storage] - 1
        if held:
            self._held[storage] = held
        else:
            del self._held[storage]
            self._live -= storage.nbytes

    def keep(self, storage: Storage) -> None:
        """Hold a storage for the backward pass."""
        if storage.parameter:
            return
        kept = self._kept.get(storage, 0)
        self._kept[storage] = kept + 1
        if not kept:
            self._kept_bytes += storage.nbytes
        self.hold(storage)

    def drop(self, storage: Storage) -> None:
        """Release a storage that was kept."""
        if storage.parameter:
            return
        kept = self._kept[storage] - 1
        if kept:
            self._kept[storage] = kept
        else:
            del self._kept[storage]
            self._kept_bytes -= storage.nbytes
        self.release(storage)

    def is_shared(self, storage: Storage) -> bool:
        """Return True if a storage has several holders."""
        return self._held.get(storage, 0) > 1

    def live(self, work: int = 0) -> Live:
        """Return what is live, with work buffers."""
        return Live(self.gradients, self._kept_bytes, self._live - self._kept_bytes + work)
