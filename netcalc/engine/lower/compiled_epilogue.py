"""Epilogues by the compiled kernel, which does all operations in one pass over a tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.fused_operations import Activate, ByChannel, Clip, Combine, FusedOperation
from netcalc.engine.lower.passes import Pass
from netcalc.engine.native.epilogue import (
    BINARY,
    ITSELF,
    REVERSED,
    UNARY,
    Epilogue,
    Operation,
    epilogue,
    epilogue_arguments,
)
from netcalc.engine.native.library import available
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning

#: Returns an operation of the kernel on a tile, given its rows and columns in the whole result.
OperationAt: TypeAlias = Callable[[slice, slice], Operation]


def compiled_operations(
    operations: Sequence[FusedOperation], dtype: np.dtype[Any], tuning: Tuning
) -> list[OperationAt] | None:
    """Return the kernel's form of operations on tiles of this type; None if it lacks one, or there is no kernel."""
    if not (tuning.compiled and available() and dtype == np.float32):
        return None
    compiled = [_compiled_operation(operation) for operation in operations]
    return None if None in compiled else [operation_at for operation_at in compiled if operation_at is not None]


def compiled_passes(
    operations: Sequence[OperationAt], source: Array, x: Array, rows: slice, columns: slice
) -> Iterator[Pass]:
    """Yield the passes that do the operations on the tile ``x``, which is at these rows and columns of the result."""
    if source.strides[1] != source.itemsize:
        yield partial(np.copyto, x, source)
        source = x
    yield epilogue(source, x, [operation(rows, columns) for operation in operations])


def compiled_arguments(operations: Sequence[OperationAt], x: Array, rows: slice, columns: slice) -> Epilogue:
    """Return the operations on the tile ``x``, in place, as kernels take them."""
    return epilogue_arguments(x, x, [operation(rows, columns) for operation in operations])


def _compiled_operation(operation: FusedOperation) -> OperationAt | None:
    match operation:
        case ByChannel(ufunc, vector):
            return lambda rows, columns: Operation(ufunc.__name__, vector.array()[columns])
        case Combine(ufunc, other, reverse):
            name = REVERSED.get(ufunc.__name__, ufunc.__name__) if reverse else ufunc.__name__
            return _combination(name, other) if name in BINARY else None
        case Clip(lowest, highest):
            limits = (-math.inf if lowest is None else lowest, math.inf if highest is None else highest)
            return lambda rows, columns: Operation("clip", None, limits)
        case Activate(op):
            name, numbers = _function(op)
            return (lambda rows, columns: Operation(name, None, numbers)) if name in UNARY else None


def _combination(name: str, other: Slot | float | None) -> OperationAt | None:
    if other is None:
        return lambda rows, columns: Operation(name, ITSELF)
    if not isinstance(other, Slot):
        return lambda rows, columns: Operation(name, None, (other,))
    if other.dtype != np.float32 or other.strides[-1] != other.dtype.itemsize:
        return None
    return lambda rows, columns: Operation(name, other.array()[rows, columns])


def _function(op: Any) -> tuple[str, tuple[float, ...]]:
    """Return the name of an elementwise operation in the kernel, if it has it, and its numbers."""
    if op.name in ("silu", "quick_gelu"):
        return "gated", (1.0 if op.name == "silu" else 1.702,)
    if op.name == "gelu" and op.approximate != "none":
        return "gelu_tanh", ()
    return op.name, (op.negative_slope,) if op.name == "leaky_relu" else ()
