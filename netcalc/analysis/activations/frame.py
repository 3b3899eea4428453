"""Memory that the values of a body hold at one point of its evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from netcalc.analysis.activations.records import LiveTensor
from netcalc.analysis.layout import Layout, Storage
from netcalc.ir import Value

#: The tensor that memory was made for; an input of the body is given by its number.
Origin: TypeAlias = LiveTensor | int


def bytes_of(storages: Iterable[Storage]) -> int:
    """Return the bytes of these storages, without parameters."""
    return sum(storage.nbytes for storage in storages if not storage.parameter)


class Frame:
    """Values of a body with their layouts, and the memory that counts in the body: ``size`` bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._layouts: dict[Value, Layout] = {}
        self._origins: dict[Storage, Origin] = {}
        self._counted: dict[Storage, Origin] = {}
        self._uses: dict[Storage, int] = {}

    def layout(self, value: Value | None) -> Layout | None:
        """Return the layout of a value; None for an input that is not given."""
        return None if value is None else self._layouts[value]

    def origin(self, storage: Storage) -> Origin:
        """Return the tensor that memory was made for."""
        return self._origins[storage]

    def knows(self, storage: Storage) -> bool:
        """Return True for the memory of a value that was defined before."""
        return storage in self._origins

    def held(self) -> Iterable[Origin]:
        """Return the tensors whose memory counts."""
        return self._counted.values()

    def admit(self, storage: Storage, origin: Origin, counted: bool) -> None:
        """Add memory, which counts in the body or belongs to a caller or to a parameter."""
        if storage not in self._origins:
            self._origins[storage] = origin
        if counted and storage not in self._counted:
            self._counted[storage] = origin
            self.size += bytes_of([storage])

    def define(self, value: Value, layout: Layout) -> None:
        """Add a value in memory that was admitted."""
        self._layouts[value] = layout
        self._uses[layout.storage] = self._uses.get(layout.storage, 0) + 1

    def release(self, values: Iterable[Value]) -> None:
        """Remove values, and the memory of which none is left."""
        for value in values:
            layout = self._layouts.pop(value, None)
            if layout is None:
                continue
            storage = layout.storage
            self._uses[storage] -= 1
            if not self._uses[storage] and self._counted.pop(storage, None) is not None:
                self.size -= bytes_of([storage])

    def ending(
        self, dead: Sequence[Value], inputs: Iterable[Value | None], holds: Iterable[Value] = ()
    ) -> dict[Storage, Origin]:
        """Return the memory counted here that only ``inputs`` of a call still use, all of them ``dead``.

        Values that the call ``holds`` are left until it is done.
        """
        taken = set(inputs).difference(holds)
        uses: dict[Storage, int] = {}
        for value in dead:
            if value in taken and value in self._layouts:
                storage = self._layouts[value].storage
                uses[storage] = uses.get(storage, 0) + 1
        return {s: self._counted[s] for s, count in uses.items() if s in self._counted and count == self._uses[s]}

    def lend(self, storages: Mapping[Storage, Origin]) -> None:
        """Count memory no longer: the iterations of a call do."""
        for storage in storages:
            del self._counted[storage]
            self.size -= bytes_of([storage])
