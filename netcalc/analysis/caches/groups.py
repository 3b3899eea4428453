"""Caches and states of equal layers together, as rows of reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.layers import Kept
from netcalc.analysis.folding import patterns, runs
from netcalc.dims import Dim

__all__ = ["KeptGroup", "grouped"]


class KeptGroup(NamedTuple):
    """Layers that keep the same: their numbers, how many there are, and what the first of them keeps."""

    title: str
    layers: int
    parts: tuple[Kept, ...]

    @property
    def cell_bytes(self) -> Dim:
        """Bytes of a position of one sequence in one of the layers, or of its states."""
        return sum((part.cell_bytes for part in self.parts[1:]), self.parts[0].cell_bytes)

    def bytes(self, convention: CacheConvention) -> Dim:
        """Return the bytes of all layers under a convention."""
        first, *others = (part.bytes(convention) * self.layers for part in self.parts)
        return sum(others, first)


def grouped(kept: Sequence[Kept]) -> Iterator[KeptGroup]:
    """Yield the caches and states of equal layers together, in order of the first layer.

    What grows with the positions and what has a fixed size are apart.
    """
    layers: dict[_Place, list[Kept]] = {}
    for one in kept:
        layers.setdefault(_Place(_list(one), one.kind == "cross", one.layer), []).append(one)
    alike: dict[object, list[_Place]] = {}
    for place, parts in layers.items():
        same = (*place[:2], *((part.name.rpartition(".")[2], part.cell, part.positions, part.window) for part in parts))
        alike.setdefault(same, []).append(place)
    rows: list[tuple[int, KeptGroup]] = []
    for places in alike.values():
        first = places[0]
        suffix = " (cross)" if first.cross else ""
        numbers = [place.layer for place in places if place.layer is not None]
        if len(numbers) < len(places):
            rows.append((0, KeptGroup(f"{first.list}{suffix}", 1, tuple(layers[first]))))
        for found in patterns(list(runs(numbers))):
            own = tuple(layers[first._replace(layer=found.first)])
            rows.append((found.first, KeptGroup(f"{first.list}.{found}{suffix}", found.size, own)))
    yield from (row for _, row in sorted(rows, key=lambda row: row[0]))


class _Place(NamedTuple):
    """The list of an input, True if it is of cross-attention, and the number of its layer."""

    list: str
    cross: bool
    layer: int | None


def _list(kept: Kept) -> str:
    """Return the part of a name before the number of the layer."""
    return kept.name if kept.layer is None else kept.name.partition(f".{kept.layer}.")[0]
