"""Caches and states of equal layers together, as rows of reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.layers import LayerCache
from netcalc.analysis.folding import patterns, runs
from netcalc.dims import Dim


class CacheGroup(NamedTuple):
    """Layers with equal caches: their numbers, how many there are, and the caches of the first."""

    title: str
    layers: int
    parts: tuple[LayerCache, ...]

    @property
    def cell_bytes(self) -> Dim:
        """Bytes of a position of one sequence in one of the layers, or of its states."""
        return sum((part.cell_bytes for part in self.parts[1:]), self.parts[0].cell_bytes)

    def cell_bytes_under(self, convention: CacheConvention) -> Dim:
        """Return the bytes of a position, or of the states, under a convention."""
        return reduce(add, (part.cell_bytes_under(convention) for part in self.parts))

    def bytes(self, convention: CacheConvention) -> Dim:
        """Return the bytes of all layers under a convention."""
        first, *others = (part.bytes(convention) * self.layers for part in self.parts)
        return sum(others, first)


def grouped(caches: Sequence[LayerCache]) -> Iterator[CacheGroup]:
    """Yield the caches and states of equal layers together, in order of the first layer.

    What grows with the positions and what has a fixed size are apart.
    """
    layers: dict[_Place, list[LayerCache]] = {}
    for cache in caches:
        layers.setdefault(_Place(_list_of(cache), cache.kind == "cross", cache.layer), []).append(cache)
    alike: dict[object, list[_Place]] = {}
    for place, parts in layers.items():
        same = (*place[:2], *((part.name.rpartition(".")[2], part.cell, part.positions, part.window) for part in parts))
        alike.setdefault(same, []).append(place)
    rows: list[tuple[int, CacheGroup]] = []
    for places in alike.values():
        first = places[0]
        suffix = " (cross)" if first.cross else ""
        numbers = [place.layer for place in places if place.layer is not None]
        if len(numbers) < len(places):
            rows.append((0, CacheGroup(f"{first.list}{suffix}", 1, tuple(layers[first]))))
        for pattern in patterns(list(runs(numbers))):
            own = tuple(layers[first._replace(layer=pattern.first)])
            rows.append((pattern.first, CacheGroup(f"{first.list}.{pattern}{suffix}", pattern.size, own)))
    yield from (row for _, row in sorted(rows, key=lambda row: row[0]))


class _Place(NamedTuple):
    """The list of an input, True if it is of cross-attention, and the number of its layer."""

    list: str
    cross: bool
    layer: int | None


def _list_of(cache: LayerCache) -> str:
    """Return the part of a name before the number of the layer."""
    return cache.name if cache.layer is None else cache.name.partition(f".{cache.layer}.")[0]
