"""Parameters assembled from the tensors of a checkpoint: their shapes, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.ir import CheckpointLocation
from netcalc.weights.pieces import Index, Part, write_part
from netcalc.weights.stored import reading
from netcalc.weights.stored_data import allocated
from netcalc.weights.tensor_files import Arrays, Header, Tensors


def assembled_shape(location: CheckpointLocation, headers: Mapping[str, Header]) -> tuple[int, ...]:
    """Return the shape of the parameter that the tensors at ``location`` give.

    Raises:
        ValueError: if they cannot be joined, stacked, chunked, sliced, interleaved or transposed.
    """
    if location.numbers is not None:
        shapes = set(_numbered_shapes(location, location.numbers, headers))
        if len(shapes) > 1:
            raise ValueError("have different shapes, and cannot be stacked")
        return (location.numbers, *shapes.pop())
    shape = _combined_shape(location, headers)
    axis = location.axis
    if (location.chunk or location.slice or location.interleaved) and not -len(shape) <= axis < len(shape):
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
    if location.interleaved is not None and shape[axis] % (2 * location.interleaved):
        raise ValueError(f"have no {2 * location.interleaved} equal parts along axis {axis}")
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
    shapes = [_source_shape(source, headers) for source in location.sources]
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
    if location.interleaved is not None:  # of which the number of parts may not fit
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


def load(tensors: Tensors, location: CheckpointLocation, dtype: np.dtype[Any]) -> Array:
    """Return the parameter at ``location``, converted to ``dtype``; it may be a view of an array in memory."""
    source = location.sources[0]
    if location == CheckpointLocation((source,)) and isinstance(source, str) and isinstance(tensors, Arrays):
        return tensors.load(source).astype(dtype, copy=False)
    with reading(tensors.name):
        array = allocated(assembled_shape(location, tensors.headers), dtype)
    write(tensors, location, Part.whole(array, dtype))
    return array


def read(
    tensors: Tensors, location: CheckpointLocation, index: Index, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Return a piece of the parameter of this shape at ``location``, see :func:`~netcalc.weights.pieces.pieces`."""
    bounds = [(p.start, p.stop) if isinstance(p, slice) else (p, p + 1) for p in index]
    ranges = (*bounds, *((0, size) for size in shape[len(index) :]))
    array = np.empty([stop - start for start, stop in ranges], dtype)
    write(tensors, location, Part(array, ranges, dtype))
    return array


def write(tensors: Tensors, location: CheckpointLocation, part: Part) -> None:
    """Write a part of the parameter at ``location`` to its place, with no more than a piece of it in memory twice."""
    if location.numbers is not None:
        for number, piece in part.numbered(0):
            write(tensors, location.numbered(number), piece)
        return
    if location.flatten is not None:  # two axes as one, of which a range need not be a range of either
        shape = assembled_shape(location._replace(flatten=None), tensors.headers)
        reshaped = part.reshaped(shape)
        if reshaped is None:
            part.put(part.out, load(tensors, location, part.dtype)[part.slices])
            return
        part = reshaped
    if location.transpose:
        part = part.transposed((*range(part.out.ndim - 2), part.out.ndim - 1, part.out.ndim - 2))
    if location.interleaved is not None:
        stored = load(tensors, location._replace(interleaved=None, transpose=False, flatten=None), part.dtype)
        part.put(part.out, _halves(stored, location.axis, location.interleaved)[part.slices])
        return
    if location.slice is not None:
        part = part.moved(location.axis, location.slice[0])
    if location.chunk is not None:
        index, count = location.chunk
        part = part.moved(location.axis, index * (_combined_shape(location, tensors.headers)[location.axis] // count))
    _write_combined(tensors, location, part)


def _halves(array: Array, axis: int, parts: int) -> Array:
    """Return an array with the elements of even places of each part along an axis before those of odd places."""
    split = np.moveaxis(array, axis, 0)
    pairs = split.reshape(parts, -1, 2, *split.shape[1:])
    return np.moveaxis(pairs.swapaxes(1, 2).reshape(split.shape), 0, axis)


def _write_combined(tensors: Tensors, location: CheckpointLocation, part: Part) -> None:
    """Write a part of the sources joined or stacked."""
    if location.stacked:
        for number, source_part in part.numbered(location.axis):
            _write_source(tensors, location.sources[number], source_part)
        return
    if len(location.sources) == 1:
        _write_source(tensors, location.sources[0], part)
        return
    start = 0
    for source in location.sources:
        size = _source_shape(source, tensors.headers)[location.axis]
        piece = part.within(location.axis, start, start + size)
        if piece is not None:
            _write_source(tensors, source, piece)
        start += size


def _write_source(tensors: Tensors, source: str | CheckpointLocation, part: Part) -> None:
    if isinstance(source, str):
        write_part(tensors, source, part)
    else:
        write(tensors, source, part)


def _source_shape(source: str | CheckpointLocation, headers: Mapping[str, Header]) -> tuple[int, ...]:
    return headers[source].shape if isinstance(source, str) else assembled_shape(source, headers)
