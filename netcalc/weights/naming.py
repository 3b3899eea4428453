"""Arrays of parameters, such as gradients, under the names and in the shapes of a checkpoint's tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from netcalc.analysis.walk import parameters
from netcalc.arrays import Array
from netcalc.dims import integer
from netcalc.ir import CheckpointLocation, Program
from netcalc.weights.assembly import expected_shape, write
from netcalc.weights.pieces import Part
from netcalc.weights.tensor_files import Header


def in_checkpoint(
    arrays: Mapping[str, Array], locations: Mapping[str, CheckpointLocation], headers: Mapping[str, Header]
) -> dict[str, Array]:
    """Return arrays under the names of a checkpoint: joined, cut and transposed as the parameters are stored.

    What would make up a tensor only in part stays under the path of its parameter.

    Args:
        arrays: arrays by path of the parameter.
        locations: where the parameters are stored, by path.
        headers: shapes of the tensors by name.
    """
    held = {path: location for path, location in locations.items() if path in arrays}
    while True:
        target = _Target({name: headers[name] for location in held.values() for name in location.names})
        for path, location in held.items():
            array = np.ascontiguousarray(arrays[path])
            write(target, location, Part.whole(array, array.dtype))
        incomplete = set(target.incomplete())
        if not incomplete:
            break
        held = {path: location for path, location in held.items() if incomplete.isdisjoint(location.names)}
    result = {path: array for path, array in arrays.items() if path not in held}
    return {**target.arrays, **result}


def in_reference(program: Program, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays by path of the parameter under the names of the reference implementation."""
    locations: dict[str, CheckpointLocation] = {}
    headers: dict[str, Header] = {}
    for path, location, shape in _references(program):
        stored = expected_shape(location, shape) or _equal_parts(location, shape)
        if path in arrays and stored is not None:
            locations[path] = location
            headers.update(dict.fromkeys(location.names, Header(stored, "")))
    return in_checkpoint(arrays, locations, headers)


def _equal_parts(location: CheckpointLocation, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of each of several tensors that are joined; None if they are not equal parts, or changed too."""
    names = tuple(source for source in location.sources if isinstance(source, str))
    if location != CheckpointLocation(names, location.axis) or shape[location.axis] % len(names):
        return None
    sizes = list(shape)
    sizes[location.axis] //= len(names)
    return tuple(sizes)


def _references(program: Program) -> Iterator[tuple[str, CheckpointLocation, tuple[int, ...]]]:
    """Yield parameters that the reference has under another name, with their places there and their shapes."""
    for parameter in parameters(program):
        entry = None if parameter.tied else next((e for e in parameter.entries if e.reference), None)
        if entry is not None:
            yield parameter.owner, entry.alternatives[0], tuple(integer(size) for size in parameter.param.shape)


@dataclass(slots=True)
class _Target:
    """Tensors to which the parts of parameters are written, where a checkpoint would read them."""

    headers: Mapping[str, Header]
    name: str = "tensors"
    arrays: dict[str, Array] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def write(self, name: str, part: Part) -> None:
        """Take a part of a tensor from the array to which it would be read."""
        array = self.arrays.setdefault(name, np.zeros(self.headers[name].shape, part.out.dtype))
        numbered = (
            array if array.ndim == part.out.ndim else array.reshape(part.out.shape)
        )  # a number, or a vector of one
        numbered[part.slices] = part.out
        self.written[name] = self.written.get(name, 0) + part.out.size

    def load(self, name: str) -> Array:
        """Return a tensor."""
        return self.arrays[name]

    def incomplete(self) -> Iterator[str]:
        """Yield the tensors that have elements of which nothing was written."""
        return (name for name, header in self.headers.items() if self.written.get(name, 0) < prod(header.shape))
