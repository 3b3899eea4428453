"""Kernels of :mod:`netcalc.ops.compare`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels.arithmetic import alike, operands
from netcalc.ops.compare import MaskedFill


def _register(name: str, ufunc: Callable[..., Any]) -> None:
    @kernel(name)
    def test(op: Any, run: Run, *arrays: Array | None) -> Array:
        return reduce(lambda x, y: np.asanyarray(ufunc(*alike(x, y)[:2])), operands(op, arrays))


for _name, _test in {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}.items():
    _register(_name, _test)


@kernel("logical_not")
def logical_not(op: Any, run: Run, x: Array) -> Array:
    return np.logical_not(wide(x))


@kernel("where")
def where(op: Any, run: Run, condition: Array, x: Array, other: Array) -> Array:
    x, other, dtype = alike(x, other)
    return np.where(condition, x, other).astype(dtype, copy=False)


@kernel("masked_fill")
def masked_fill(op: MaskedFill, run: Run, x: Array, mask: Array) -> Array:
    return np.where(mask, np.asarray(op.value).astype(x.dtype), x)
