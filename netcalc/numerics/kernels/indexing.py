"""Kernels of :mod:`netcalc.ops.indexing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.ops.indexing import Index, IndexPut, MaskedScatter, Scatter


@kernel("index")
def index(op: Index, run: Run, x: Array, *indices: Array) -> Array:
    part: Array = x[_places(op.name, op.axis, x, indices)]
    return part


@kernel("index_put")
def index_put(op: IndexPut, run: Run, x: Array, values: Array, *indices: Array) -> Array:
    result = np.array(x)
    places = _places(op.name, op.axis, x, indices)
    if op.accumulate:
        # NumPy 2.4 adds values of one axis once where the indices have several
        added = np.broadcast_to(values, result[places].shape)
        np.add.at(result, places, added)
        run.note("add", added.size * _parts(result))
    else:
        result[places] = values
    return like(x, result)


@kernel("scatter")
def scatter(op: Scatter, run: Run, x: Array, index: Array, source: Array) -> Array:
    axis = op.axis % x.ndim
    places = [
        np.arange(size).reshape([-1 if a == b else 1 for b in range(x.ndim)]) for a, size in enumerate(index.shape)
    ]
    places[axis] = checked_index(op.name, index, x.shape[axis])
    result = np.array(x)
    where = tuple(places)
    plain = np.asarray(source)
    match op.reduce:
        case None:
            result[where] = plain
        case "sum":
            np.add.at(result, where, plain)
            run.note("add", plain.size * _parts(plain))
        case "prod":
            np.multiply.at(result, where, plain)
            run.note("mul", plain.size)
        case "amax" | "amin":
            (np.maximum if op.reduce == "amax" else np.minimum).at(result, where, plain)
            run.note("compare", plain.size)
    return like(x, result)


@kernel("masked_scatter")
def masked_scatter(op: MaskedScatter, run: Run, x: Array, mask: Array, source: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    result = np.array(np.broadcast_to(np.asarray(x), shape))
    chosen = np.broadcast_to(np.asarray(mask), shape)
    count = int(np.count_nonzero(chosen))
    if count > source.size:
        raise RuleError(f"{op.name}: {count} elements to replace, and the source has {source.size}", code="E602")
    result[chosen] = np.asarray(source).reshape(-1)[:count]
    return like(x, result)


def _parts(x: Array) -> int:
    """Return the number of real sums in a sum of two elements."""
    return 2 if np.iscomplexobj(x) else 1


def _places(what: str, axes: Any, x: Array, indices: tuple[Array, ...]) -> tuple[Any, ...]:
    """Return the index of an array that stands for index arrays along some of its axes."""
    places: list[Any] = [slice(None)] * x.ndim
    for axis, places_there in zip(axes, indices, strict=True):
        places[axis] = checked_index(what, places_there, x.shape[axis], -x.shape[axis])
    return tuple(places)


def checked_index(what: str, index: Array, size: int, least: int = 0) -> Array:
    """Return the index as a plain array; RuleError (E602) if one of its positions is out of range."""
    plain = np.asarray(index)
    if plain.size and (plain.min() < least or plain.max() >= size):
        wrong = plain.min() if plain.min() < least else plain.max()
        raise RuleError(f"{what}: index {wrong} is out of range for an axis of {size}", code="E602")
    return plain
