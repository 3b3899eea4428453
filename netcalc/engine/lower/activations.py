"""Activations as a few passes over a tile, in place, without temporary arrays.

The logistic function is computed from a hyperbolic tangent, which NumPy vectorises and computes faster than an
exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.lower.passes import Pass
from netcalc.numerics.kernels import Array, Run, apply

__all__ = ["Activation", "activation", "clip_limits", "kernel_bytes"]

#: Yields the passes that compute a function of an array into another (or the same) array; called with both of them and
#: with two scratch arrays of their shape.
Activation: TypeAlias = Callable[[Array, Array, Array, Array], Iterator[Pass]]

#: atanh(erf(x/√2)) = x·P(x²): the odd polynomial for which x·(1 + tanh(x·P(x²)))/2 is nearest to x·Φ(x), by
#: Lawson's weighted least squares over |x| ≤ 6.  The largest error is 6.7e-8, an ulp of float32 at 1; for larger |x|
#: the leading term takes the tangent to ±1, which is the limit.
_GELU = (
    0.79788421741,
    0.036334280478,
    -3.3127997296e-05,
    -5.5240700835e-05,
    3.9691778688e-06,
    -1.334503495e-07,
    1.805699358e-09,
)


def activation(op: Any, dtype: np.dtype[Any]) -> Activation:
    """Return the passes of an elementwise operation on tiles of this type."""
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


def _half_logistic(x: Array, factor: float, scratch: Array) -> Iterator[Pass]:
    """Compute 2·σ(factor·x) into the scratch array."""
    yield partial(np.multiply, x, x.dtype.type(factor / 2), scratch)
    yield partial(np.tanh, scratch, scratch)
    yield partial(np.add, scratch, x.dtype.type(1), scratch)


def _sigmoid(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield from _half_logistic(x, 1, scratch)
    yield partial(np.multiply, scratch, x.dtype.type(0.5), out)


def _gated(factor: float, x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    """Compute x·σ(factor·x)."""
    yield from _half_logistic(x, factor, scratch)
    yield partial(np.multiply, scratch, x, scratch)
    yield partial(np.multiply, scratch, x.dtype.type(0.5), out)


def _by_tanh(coefficients: tuple[float, ...], x: Array, out: Array, scratch: Array, square: Array) -> Iterator[Pass]:
    """Compute ½·x·(1 + tanh(x·P(x²)))."""
    number = x.dtype.type
    *others, leading = coefficients
    yield partial(np.multiply, x, x, square)
    yield partial(np.multiply, square, number(leading), scratch)
    for coefficient in others[:0:-1]:
        yield partial(np.add, scratch, number(coefficient), scratch)
        yield partial(np.multiply, scratch, square, scratch)
    yield partial(np.add, scratch, number(others[0]), scratch)
    yield partial(np.multiply, scratch, x, scratch)
    yield partial(np.tanh, scratch, scratch)
    yield partial(np.multiply, x, number(0.5), square)
    yield partial(np.multiply, scratch, square, scratch)
    yield partial(np.add, scratch, square, out)


_gelu: Activation = partial(_by_tanh, _GELU)
_gelu_tanh: Activation = partial(_by_tanh, (math.sqrt(2 / math.pi), math.sqrt(2 / math.pi) * 0.044715))


def _leaky(slope: float, x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield partial(np.multiply, x, x.dtype.type(slope), scratch)
    yield partial(np.maximum, x, scratch, out=out)


def _hard(x: Array, scratch: Array) -> Iterator[Pass]:
    """Compute min(max(x + 3, 0), 6) into the scratch array."""
    yield partial(np.add, x, x.dtype.type(3), scratch)
    yield lambda: np.clip(scratch, 0, 6, out=scratch)


def _hardsigmoid(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield from _hard(x, scratch)
    yield partial(np.multiply, scratch, x.dtype.type(1 / 6), out)


def _hardswish(x: Array, out: Array, scratch: Array, other: Array) -> Iterator[Pass]:
    yield from _hard(x, scratch)
    yield partial(np.multiply, scratch, x, scratch)
    yield partial(np.multiply, scratch, x.dtype.type(1 / 6), out)


_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": _sigmoid,
    "silu": partial(_gated, 1.0),
    "quick_gelu": partial(_gated, 1.702),
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
}
