"""Elementwise operations on the rows of a tile by a compiled kernel: all of them in one pass over memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.native.library import bound

#: Operations of two operands, in the order of the kernel's numbers; two of them take their operands in reverse order.
BINARY = ("add", "subtract", "subtract_from", "multiply", "divide", "divide_into", "maximum", "minimum")
#: Operations of two operands with these in reverse order.
REVERSED = {"subtract": "subtract_from", "divide": "divide_into"}
#: Functions of an element, in the order of the numbers that follow.  ``gated`` is x·σ(a·x).
UNARY = (
    *("clip", "leaky_relu", "gated", "gelu", "gelu_tanh", "sigmoid", "tanh", "hardsigmoid", "hardswish"),
    *("exp", "square", "abs", "neg", "reciprocal"),
)

#: Second operand of an operation that takes its first operand twice.
ITSELF = "itself"

_NONE, _NUMBER, _COLUMNS, _TENSOR, _ITSELF = range(5)


class Operation(NamedTuple):
    """An operation by name, its second operand (a value for each column, or rows) and its numbers."""

    name: str
    operand: Array | str | None = None
    numbers: tuple[float, ...] = ()


class _Stage(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("operand", ctypes.c_void_p),
        ("stride", ctypes.c_ssize_t),
        ("a", ctypes.c_float),
        ("b", ctypes.c_float),
    )


class Epilogue(ctypes.Structure):
    """Argument of the kernel."""

    arrays: tuple[Any, ...]
    _fields_ = (
        ("source", ctypes.c_void_p),
        ("x", ctypes.c_void_p),
        ("stages", ctypes.c_void_p),
        *((name, ctypes.c_ssize_t) for name in ("count", "rows", "columns", "source_stride", "x_stride")),
    )


def epilogue_arguments(source: Array, x: Array, operations: Sequence[Operation]) -> Epilogue:
    """Return the operations on the rows of ``source``, one after the other, whose results go to ``x``.

    Args:
        source: rows (rows, columns) of float32; the columns of a row lie together.  It may be ``x``.
        x: the result, of the same shape.
        operations: the operations.
    """
    stages = (_Stage * len(operations))(*map(_stage, operations))
    step = x.itemsize
    arguments = Epilogue(
        source.ctypes.data,
        x.ctypes.data,
        ctypes.addressof(stages),
        len(operations),
        *x.shape,
        source.strides[0] // step,
        x.strides[0] // step,
    )
    arguments.arrays = (source, x, stages, operations)
    return arguments


def epilogue(source: Array, x: Array, operations: Sequence[Operation]) -> Callable[[], object]:
    """Return the call that does what :func:`epilogue_arguments` describes."""
    arguments = epilogue_arguments(source, x, operations)
    return bound("epilogue", arguments, *arguments.arrays)


def _stage(operation: Operation) -> _Stage:
    name, operand, numbers = operation
    a, b, *_ = (*numbers, 0.0, 0.0)
    code = (*BINARY, *UNARY).index(name)
    if isinstance(operand, np.ndarray):
        kind, stride = (_COLUMNS, 0) if operand.ndim == 1 else (_TENSOR, operand.strides[0] // operand.itemsize)
        return _Stage(code, kind, operand.ctypes.data, stride, a, b)
    return _Stage(code, _ITSELF if operand == ITSELF else _NUMBER if numbers else _NONE, None, 0, a, b)
