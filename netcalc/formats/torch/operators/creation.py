"""Tensors that are made without inputs, or only from the shape of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, Poly
from netcalc.dtypes import FLOATS, DType, scalar_dtype
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import dtype_of

#: Longest sequence of numbers that is written out.
_WRITTEN = 1024


@operator("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(build: Builder, end: Any, dtype: Any, start: Any = 0, step: Any = 1, **_: Any) -> Value:
    fractional = any(isinstance(number, float) for number in (start, end, step))
    type_ = dtype_of(dtype) or ("float32" if fractional else "int64")
    if type_ not in FLOATS:
        start, end, step = (_whole_number(number) for number in (start, end, step))
    if start == end:
        return filled(build, (0,), 0, type_)
    attributes = {
        "start": None if start == 0 else start,
        "stop": end,
        "step": None if step == 1 else step,
        "dtype": None if type_ == "int64" else type_,
    }
    return build.line("arange", [], attributes)


def _whole_number(number: Any) -> Any:
    return int(number) if isinstance(number, float) and number.is_integer() else number


@operator("aten.linspace.default")
def linspace(build: Builder, start: float, end: float, steps: Any, dtype: Any, **_: Any) -> Value:
    type_ = dtype_of(dtype) or "float32"
    if isinstance(steps, Poly) or steps > _WRITTEN or type_ not in FLOATS:
        raise RuleError(f"linspace of {steps} numbers of {type_} is not written out")
    torch: Any = import_module("torch")
    numbers = torch.linspace(start, end, steps, dtype=dtype, device="cpu").tolist()
    return build.line("constant", [], {"value": numbers, "dtype": None if type_ == "float32" else type_})


@operator("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def full(
    build: Builder, fill_value: Any, dtype: Any = None, input: Value | None = None, size: Any = None, **_: Any
) -> Value:
    """Equal numbers, of the type of the number or of an input, whose shape they have where no size is given."""
    if input is None:
        own: DType = "complex64" if isinstance(fill_value, complex) else scalar_dtype(fill_value)
        return filled(build, size, fill_value, dtype_of(dtype) or own)
    return filled(build, input.type.shape if size is None else size, fill_value, dtype_of(dtype) or input.type.dtype)


operator(
    *("aten.zeros.default", "aten.empty.memory_format", "aten.empty_strided.default", "aten.empty_permuted.default"),
    *("aten.zeros_like.default", "aten.empty_like.default", "aten.zero.default"),
    *("aten.new_zeros.default", "aten.new_empty.default", "aten.new_empty_strided.default"),
)(partial(full, fill_value=0.0))
operator("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")(partial(full, fill_value=1.0))


@operator("aten.scalar_tensor.default")
def scalar_tensor(build: Builder, s: Any, dtype: Any, **_: Any) -> Value:
    return filled(build, (), s, dtype_of(dtype) or "float32")


@operator("aten.fill.Scalar")
def fill(build: Builder, input: Value, value: Any) -> Value:
    return filled(build, input.type.shape, value, input.type.dtype)


@operator("aten.eye.default", "aten.eye.m")
def identity_matrix(build: Builder, n: Dim, dtype: Any, m: Dim | None = None, **_: Any) -> Value:
    lower = build.line("tril", [filled(build, (n, n if m is None else m), 1, dtype_of(dtype) or "float32")])
    return build.line("triu", [lower])


@operator("aten.tril_indices.default")
def tril_indices(build: Builder, row: Any, col: Any, offset: int, dtype: Any, **_: Any) -> Value:
    return _places(build, row, col, dtype, lambda i, j: j - i <= offset)


@operator("aten.triu_indices.default")
def triu_indices(build: Builder, row: Any, col: Any, offset: int, dtype: Any, **_: Any) -> Value:
    return _places(build, row, col, dtype, lambda i, j: j - i >= offset)


def _places(build: Builder, rows: Any, columns: Any, dtype: Any, inside: Callable[[int, int], bool]) -> Value:
    """Return rows and columns of the elements of a matrix that are inside a triangle, written out."""
    if isinstance(rows, Poly) or isinstance(columns, Poly) or rows * columns > _WRITTEN:
        raise RuleError(f"the indices of a triangle of {rows}×{columns} are not written out")
    places = [(i, j) for i in range(rows) for j in range(columns) if inside(i, j)]
    if not places:
        return filled(build, (2, 0), 0, "int64")
    value = [[place[axis] for place in places] for axis in (0, 1)]
    type_ = None if isinstance(dtype, int) else dtype_of(dtype)  # the default of the schema is a number, for int64
    return cast(build, build.line("constant", [], {"value": value}), type_)


def filled(build: Builder, shape: Sequence[Dim], number: Any, dtype: DType) -> Value:
    """Return a tensor whose elements are all the same number."""
    return build.filled(shape, [number.real, number.imag] if isinstance(number, complex) else number, dtype)
