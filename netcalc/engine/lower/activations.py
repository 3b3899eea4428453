"""Activations as a few passes over a tile, in place, without temporary arrays.

The logistic function is computed from a hyperbolic tangent, which NumPy vectorizes and computes faster than an
exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.broadcast import clipped
from netcalc.engine.lower.passes import Pass
from netcalc.numerics.kernels import Run, apply

#: Yields the passes that compute a function of an array into another (or the same) array; called with both of them and
#: with two scratch arrays of their shape.
Activation: TypeAlias = Callable[[Array, Array, Array, Array], Iterator[Pass]]

#: (s, a, k, b, m, c) of atanh(erf(x/√2)) = s·x·(y + a + k/(y + b + m/(y + c))) with y = x².  They minimize the largest
#: error of ½·x·(1 + tanh(…)) against x·Φ(x), divided by max(|x|, 1), by Lawson's weighted least squares: 4.8e-8, less
#: than half an ulp of float32.  For large |x| it grows like x³ and takes the tangent to ±1, which is the limit.  A
#: polynomial of this error has seven terms; they need more passes over two arrays, which take longest.
_GELU = (0.01793025077, 66.78993476, -173.1563977, -18.19279108, 1049.169143, 40.41334042)


#: Operations whose passes are fast, and lose digits of lower tails in 1 + tanh: not in double precision.
_CANCELLING = ("sigmoid", "silu", "quick_gelu")


def activation(op: Any, dtype: np.dtype[Any]) -> Activation:
    """Return the passes of an elementwise operation on tiles of this type."""
    if dtype == np.float64 and op.name in _CANCELLING:
        return partial(_kernel, op)
    if op.name == "gelu" and op.approximate == "none":
        return _gelu if dtype == np.float32 else partial(_kernel, op)
    if op.name == "leaky_relu":
        return partial(_leaky, op.negative_slope) if 0 <= op.negative_slope <= 1 else partial(_kernel, op)
    if op.name == "gelu":
        return _gelu_tanh
    if op.name in _UFUNCS:
        return partial(_ufunc, _UFUNCS[op.name])
    return _ACTIVATIONS.get(op.name) or partial(_kernel, op)


def kernel_bytes(op: Any, dtype: np.dtype[Any], elements: int) -> int:
    """Return the most bytes that the reference kernel allocates for a tile; 0 if the passes of `activation` need none.

    A kernel makes its result and up to four arrays besides.
    """
    passes = activation(op, dtype)
    return 5 * elements * dtype.itemsize if isinstance(passes, partial) and passes.func is _kernel else 0


def clip_limits(op: Any) -> tuple[float | None, float | None] | None:
    """Return (lowest, highest) of an operation that only clips; None for others."""
    if op.name == "hardtanh":
        return op.min, op.max
    return {"relu": (0.0, None), "relu6": (0.0, 6.0)}.get(op.name)


_UFUNCS: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "square": np.square,
    "abs": np.abs,
    "neg": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "atan": np.arctan,
}


def _ufunc(function: Callable[..., Any], x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield partial(function, x, out)


def _kernel(op: Any, x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    """Call the reference kernel, which allocates temporary arrays."""
    run = Run()
    yield lambda: np.copyto(out, apply(op, run, (x,), {})[0], casting="unsafe")


def _typed_number(x: Array, value: float) -> Array:
    """Return a number as an array of the type of ``x``: ufuncs convert scalars at each call."""
    return np.asarray(value, x.dtype)


def _sigmoid(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    half = _typed_number(x, 0.5)
    yield partial(np.multiply, x, half, out)
    yield partial(np.tanh, out, out)
    yield partial(np.multiply, out, half, out)
    yield partial(np.add, out, half, out)


def _gated(factor: float, x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    """Compute x·σ(factor·x) = ½·x·(1 + tanh(½·factor·x))."""
    if factor != 1:
        yield partial(np.multiply, x, _typed_number(x, factor / 2), scratch)
        yield partial(np.tanh, scratch, scratch)
        yield from _half_of_sum(x, scratch, out)
    else:
        yield partial(np.multiply, x, _typed_number(x, 0.5), out)
        yield partial(np.tanh, out, scratch)
        yield partial(np.add, scratch, _typed_number(x, 1), scratch)
        yield partial(np.multiply, out, scratch, out)


def _half_of_sum(x: Array, tangent: Array, out: Array) -> Iterator[Pass]:
    """Compute ½·x·(1 + tangent)."""
    yield partial(np.multiply, x, _typed_number(x, 0.5), out)
    yield partial(np.add, tangent, _typed_number(x, 1), tangent)
    yield partial(np.multiply, out, tangent, out)


def _gelu(x: Array, out: Array, scratch: Array, square: Array) -> Iterator[Pass]:
    scale, *numbers = (_typed_number(x, value) for value in _GELU)
    first, upper, second, lower, third = numbers
    yield partial(np.square, x, square)
    yield partial(np.add, square, third, scratch)
    for numerator, term in ((lower, second), (upper, first)):
        yield partial(np.divide, numerator, scratch, scratch)
        yield partial(np.add, scratch, square, scratch)
        yield partial(np.add, scratch, term, scratch)
    yield partial(np.multiply, scratch, scale, scratch)
    yield partial(np.multiply, scratch, x, scratch)
    yield partial(np.tanh, scratch, scratch)
    yield from _half_of_sum(x, scratch, out)


def _gelu_tanh(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    """Compute ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""
    factor = math.sqrt(2 / math.pi)
    yield partial(np.square, x, scratch)
    yield partial(np.multiply, scratch, _typed_number(x, factor * 0.044715), scratch)
    yield partial(np.add, scratch, _typed_number(x, factor), scratch)
    yield partial(np.multiply, scratch, x, scratch)
    yield partial(np.tanh, scratch, scratch)
    yield from _half_of_sum(x, scratch, out)


def _leaky(slope: float, x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield partial(np.multiply, x, _typed_number(x, slope), scratch)
    yield partial(np.maximum, x, scratch, out=out)


def _hard(x: Array, scratch: Array) -> Iterator[Pass]:
    """Compute min(max(x + 3, 0), 6) into the scratch array."""
    yield partial(np.add, x, _typed_number(x, 3), scratch)
    yield from clipped(scratch, scratch, 0, 6)


def _hardsigmoid(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield from _hard(x, scratch)
    yield partial(np.multiply, scratch, _typed_number(x, 1 / 6), out)


def _hardswish(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield from _hard(x, scratch)
    yield partial(np.multiply, scratch, _typed_number(x, 1 / 6), scratch)
    yield partial(np.multiply, scratch, x, out)


_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": _sigmoid,
    "silu": partial(_gated, 1.0),
    "quick_gelu": partial(_gated, 1.702),
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
}
