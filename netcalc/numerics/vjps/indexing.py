"""Products of :mod:`netcalc.ops.indexing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.indexing import Index, IndexPut, MaskedScatter, Scatter


@vjp("index")
def index(op: Index, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    total = np.zeros(back.shape(), g.dtype)
    np.add.at(total, _places(op, back), g)
    return {0: total}


@vjp("index_put")
def index_put(op: IndexPut, back: Back, gradient: Array) -> Gradients:
    gradients: Gradients = {}
    if back.wants(0):
        gradients[0] = gradient
        if not op.accumulate:
            gradients[0] = np.array(gradient)
            gradients[0][_places(op, back)] = 0
    if back.wants(1):
        gradients[1] = summed_to(wide(gradient)[_places(op, back)], back.shape(1))
    return gradients


@vjp("scatter")
def scatter(op: Scatter, back: Back, gradient: Array) -> Gradients:
    match op.reduce:
        case None | "sum":
            gradients: Gradients = {}
            if back.wants(0):
                gradients[0] = gradient
                if op.reduce is None:
                    gradients[0] = np.array(gradient)
                    gradients[0][_along(op, back)] = 0
            if back.wants(2):
                gradients[2] = gradient[_along(op, back)]
            return gradients
        case "prod":
            return _of_products(_along(op, back), back, wide(gradient))
        case _:
            return _of_extrema(_along(op, back), back, wide(gradient))


@vjp("masked_scatter")
def masked_scatter(op: MaskedScatter, back: Back, gradient: Array) -> Gradients:
    chosen = np.broadcast_to(np.asarray(back.saved["mask"]), gradient.shape)
    gradients: Gradients = {}
    if back.wants(0):
        gradients[0] = summed_to(select(chosen, 0, wide(gradient)), back.shape())
    if back.wants(2):
        used = np.asarray(gradient)[chosen]
        source = np.zeros(int(np.prod(back.shape(2))), used.dtype)
        source[: used.size] = used
        gradients[2] = source.reshape(back.shape(2))
    return gradients


def _of_products(places: tuple[Any, ...], back: Back, g: Array) -> Gradients:
    """Return the gradients of products: the product of the other factors, also where a factor is zero.

    Where two scattered elements of one place are zero, their gradient is zero.
    """
    x, source, result = (wide(back.saved[name]) for name in ("self", "src", "result"))
    gradients: Gradients = {}
    if back.wants(0):
        factor = select(x == 0, 1, x)
        gradients[0] = g * _multiplied_at(factor, places, source) / factor
    if back.wants(2):
        zero = source == 0
        zeros = np.zeros(x.shape, np.int64)
        np.add.at(zeros, places, like(source, zero.astype(np.int64)))
        single = zero & (like(source, zeros[places]) == 1)
        without = _multiplied_at(x, places, select(single, 1, source))
        at = g[places]
        quotient = at * result[places] / select(zero, 1, source)
        gradients[2] = select(single, at * without[places], quotient)
    return gradients


def _of_extrema(places: tuple[Any, ...], back: Back, g: Array) -> Gradients:
    """Return the gradients of extrema, shared evenly among the elements that are equal to the result."""
    x, source, result = (wide(back.saved[name]) for name in ("self", "src", "result"))
    is_result = x == result
    scattered = source == result[places]
    number = is_result.astype(g.dtype)
    np.add.at(number, places, scattered.astype(g.dtype))
    share = g / number
    none = np.zeros((), g.dtype)
    return back.only({0: lambda: np.where(is_result, share, none), 2: lambda: np.where(scattered, share[places], none)})


def _multiplied_at(x: Array, places: tuple[Any, ...], source: Array) -> Array:
    """Return x with scattered elements multiplied to their places."""
    result = np.array(x)
    np.multiply.at(result, places, source)
    return like(x, result)


def _along(op: Scatter, back: Back) -> tuple[Any, ...]:
    """Return the positions that the index along one axis stands for."""
    index = np.asarray(back.saved["index"])
    places: list[Any] = list(np.ogrid[tuple(map(slice, index.shape))])
    places[op.axis] = index
    return tuple(places)


def _places(op: Index | IndexPut, back: Back) -> tuple[Any, ...]:
    """Return the index of an array that stands for index arrays along some of its axes."""
    places: list[Any] = [slice(None)] * len(back.shape())
    for number, axis in enumerate(op.axis):
        places[axis] = np.asarray(back.saved[f"indices[{number}]"])
    return tuple(places)
