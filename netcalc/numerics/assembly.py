"""Parameters assembled from the tensors of a checkpoint: their shapes, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from netcalc.ir import CheckpointLocation
from netcalc.numerics.kernels import Array
from netcalc.numerics.tensor_files import Header, Tensors

__all__ = ["assembled_shape", "expected_shape", "load"]


def assembled_shape(location: CheckpointLocation, headers: Mapping[str, Header]) -> tuple[int, ...]:
    """Return the shape of the parameter that the tensors at ``location`` give.

    Raises:
        ValueError: if they cannot be joined, stacked, chunked, sliced or transposed.
    """
    if location.numbers is not None:
        shapes = set(_numbered_shapes(location, location.numbers, headers))
        if len(shapes) > 1:
            raise ValueError("have different shapes, and cannot be stacked")
        return (location.numbers, *shapes.pop())
    shape = _combined_shape(location, headers)
    axis = location.axis
    if (location.chunk or location.slice) and not -len(shape) <= axis < len(shape):
        raise ValueError(f"have no axis {axis}")
    if location.chunk is not None:
        if shape[axis] % location.chunk[1]:
            raise ValueError(f"are {shape[axis]} long in axis {axis}, which {location.chunk[1]} does not divide")
        shape[axis] //= location.chunk[1]
    if location.slice is not None:
        start, stop = location.slice
        if stop > shape[axis]:
            raise ValueError(f"are {shape[axis]} long in axis {axis}, and the slice ends at {stop}")
        shape[axis] = stop - start
    if location.transpose:
        if len(shape) < 2:
            raise ValueError("have fewer than two axes, and cannot be transposed")
        shape[-2:] = shape[:-3:-1]
    if (first := location.flatten) is not None:
        if first + 1 >= len(shape):
            raise ValueError(f"have {len(shape)} axes, and none follows axis {first}")
        shape[first : first + 2] = [shape[first] * shape[first + 1]]
    return tuple(shape)


def _numbered_shapes(
    location: CheckpointLocation, numbers: int, headers: Mapping[str, Header]
) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of the parts that are stacked; equal ones may be left out."""
    if location.nested_numbers:
        yield from (assembled_shape(location.numbered(i), headers) for i in range(numbers))
        return
    part = location._replace(numbers=None)
    stems = part.names
    parts = {tuple(headers[stem.replace("{}", i)].shape for stem in stems) for i in map(str, range(numbers))}
    for shapes in parts:
        yield assembled_shape(part, {stem: Header(shape, "") for stem, shape in zip(stems, shapes, strict=True)})


def _combined_shape(location: CheckpointLocation, headers: Mapping[str, Header]) -> list[int]:
    """Return the shape of the sources joined or stacked."""
    shapes = [headers[s].shape if isinstance(s, str) else assembled_shape(s, headers) for s in location.sources]
    rank = len(shapes[0]) + location.stacked
    if len(shapes) == 1 and not location.stacked:
        return list(shapes[0])
    if not -rank <= location.axis < rank:
        raise ValueError(f"have no axis {location.axis}")
    axis = location.axis % rank
    rest = {shape if location.stacked else (*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len({len(shape) for shape in shapes}) > 1 or len(rest) > 1:
        verb = "stacked" if location.stacked else f"joined along axis {location.axis}"
        raise ValueError(f"cannot be {verb}: {', '.join('×'.join(map(str, s)) or 'scalar' for s in shapes[:4])}")
    shape = list(rest.pop())
    shape.insert(axis, len(shapes) if location.stacked else sum(s[axis] for s in shapes))
    return shape


def expected_shape(location: CheckpointLocation, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape that every tensor at ``location`` should have, or None if several shapes are possible."""
    if len(location.sources) != 1 or location.stacked or location.slice or location.flatten is not None:
        return None
    if not isinstance(location.sources[0], str):
        return None
    sizes = list(shape)
    if location.numbers is not None:
        if sizes[:1] != [location.numbers]:
            return None
        del sizes[0]
    if location.transpose and len(sizes) >= 2:
        sizes[-2:] = sizes[:-3:-1]
    if location.chunk is not None:
        if not -len(sizes) <= location.axis < len(sizes):
            return None
        sizes[location.axis] *= location.chunk[1]
    return tuple(sizes)


def load(tensors: Tensors, location: CheckpointLocation) -> Array:
    """Return the parameter at ``location``; it may be a view of an array in memory."""
    if location.numbers is not None:
        return np.stack([load(tensors, location.numbered(i)) for i in range(location.numbers)])
    arrays = [tensors.load(s) if isinstance(s, str) else load(tensors, s) for s in location.sources]
    if location.stacked:
        array = np.stack(arrays, axis=location.axis)
    else:
        array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=location.axis)
    if location.chunk is not None:
        index, count = location.chunk
        size = array.shape[location.axis] // count
        array = array.take(range(index * size, (index + 1) * size), axis=location.axis)
    if location.slice is not None:
        array = array.take(range(*location.slice), axis=location.axis)
    if location.transpose:
        array = np.swapaxes(array, -1, -2)
    if (first := location.flatten) is not None:
        array = array.reshape(*array.shape[:first], -1, *array.shape[first + 2 :])
    return array
