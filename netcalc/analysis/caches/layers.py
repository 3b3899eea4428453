"""Caches and states of a program: what each layer keeps, for one position or as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.caches.conventions import CacheConvention, ElementType, own_type
from netcalc.dims import Dim, product
from netcalc.dtypes import FLOATS
from netcalc.ir import Program
from netcalc.ir.caches import Cache
from netcalc.results import Entry, recorded

Kind: TypeAlias = Literal["key", "value", "latent", "cross", "state"]

_NUMBER = re.compile(r"\.(\d+)\.")


@recorded(
    *("name", "next", "layer", "kind", Entry("dtype", "element.name"), "cell", "cell_bytes"),
    *("sequences", "positions", "window", Entry("cells", "reserved_cells"), Entry("bytes", "reserved_bytes")),
)
class LayerCache(NamedTuple):
    """A cache or a state: an input of a step that the step before it makes.

    A cache grows by a cell for each position.
    """

    name: str
    """Name of the input."""
    next: str
    """Name of the output that is this input in the next step."""
    layer: int | None
    kind: Kind
    """key, value, latent, cross or state."""
    cell: tuple[Dim, ...]
    """Shape of the part of one position and one sequence, or of the state of one."""
    sequences: Dim
    positions: Dim | None
    """Positions that have been seen after the step; null for a state."""
    window: Dim | None
    """Positions that a query sees; null for all of them."""
    element: ElementType
    conventions: tuple[CacheConvention, ...] = ()
    """Conventions that its memory is reported under."""

    @property
    def cell_bytes(self) -> Dim:
        """Bytes of a cell of one sequence, or of its state."""
        return self.element.size(product(self.cell), self.cell[-1] if self.cell else 1)

    def cell_bytes_under(self, convention: CacheConvention) -> Dim:
        """Return the bytes of a cell under a convention, in which states may have another element type."""
        changed = convention.state_type(self.name) if self.kind == "state" and self.element.name in FLOATS else None
        return self.cell_bytes if changed is None else self._replace(element=changed).cell_bytes

    @property
    def reserved_cells(self) -> Mapping[str, Dim]:
        """Cells of each sequence, by convention."""
        return {convention.name: self.cells(convention) for convention in self.conventions}

    @property
    def reserved_bytes(self) -> Mapping[str, Dim]:
        """Bytes of all sequences, by convention."""
        return {convention.name: self.bytes(convention) for convention in self.conventions}

    def cells(self, convention: CacheConvention, positions: Dim | None = None) -> Dim:
        """Return the cells of each sequence under a convention, here or after other positions; 1 for a state."""
        if self.positions is None:
            return 1
        return convention.reserved(self.positions if positions is None else positions, self.window)

    def bytes(self, convention: CacheConvention, positions: Dim | None = None) -> Dim:
        """Return the bytes under a convention, here or after other positions."""
        return self.cell_bytes_under(convention) * self.cells(convention, positions) * self.sequences


def applied_to(program: Program, conventions: Iterable[CacheConvention]) -> tuple[CacheConvention, ...]:
    """Return conventions for the model type, the element type and the windows of a program."""
    windows = {entry.window for entry in program.caches.entries if entry.axis is not None}
    return tuple(convention.applied(program.architecture, program.dtype, windows) for convention in conventions)


def kept_by(
    program: Program, element: ElementType | None = None, conventions: tuple[CacheConvention, ...] = ()
) -> tuple[LayerCache, ...]:
    """Return the caches and states that a program passes on, in order; ``element`` replaces the type of the caches.

    ``conventions``, applied to the program, are the conventions that their memory is reported under.
    """
    inputs, outputs = program.input_types, program.output_types
    positions = _positions(program)
    caches = []
    for entry in program.caches.entries:
        # a cache of fixed size that a step does not change is no output of it
        type_ = outputs.get(entry.output) or (inputs.get(entry.input) if entry.axis is None else None)
        if type_ is None:
            continue
        number = _NUMBER.search(entry.input)
        layer = int(number[1]) if number else None
        cell, seen = type_.shape[1:], None
        if entry.axis is not None:
            axis = entry.axis % type_.rank
            cell = (*type_.shape[1:axis], *type_.shape[axis + 1 :])
            seen = positions if entry.window is not None and positions is not None else type_.shape[axis]
        kind = _kind_of_cache(entry)
        own = element if element is not None and kind != "state" else own_type(type_.dtype)
        sequences = type_.shape[0]
        caches.append(
            LayerCache(entry.input, entry.output, layer, kind, cell, sequences, seen, entry.window, own, conventions)
        )
    return tuple(caches)


def reserved(caches: Iterable[LayerCache], convention: CacheConvention, positions: Dim | None = None) -> Dim:
    """Return the bytes of caches and states together; see :meth:`LayerCache.bytes`."""
    return reduce(add, (cache.bytes(convention, positions) for cache in caches), 0)


def _positions(program: Program) -> Dim | None:
    """Return the number of positions that a step and those before it have seen; None if the spec does not name it."""
    past, new = program.caches.past, program.caches.new
    if past is None or new is None:
        return None
    total: Dim = program.dims[past] + program.dims[new]
    return total


def _kind_of_cache(entry: Cache) -> Kind:
    """Return the kind of an entry from its name and its axis."""
    name = entry.input.rpartition(".")[2]
    if entry.axis is None:
        return "cross" if name.endswith(("key", "value")) else "state"
    return "key" if name == "key" else "value" if name == "value" else "latent"
