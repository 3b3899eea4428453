"""Reductions over axes, norms and distances of vectors, and cumulative sums."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import cast, single, unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import dtype_of, operator_and_in_place


def _reduced(dim: Any, keepdim: bool) -> dict[str, Any]:
    """Return the attributes of a reduction; no axis, or an empty list, is all of them."""
    return {"axis": None if dim is None or dim == [] else single(dim), "keepdim": keepdim or None}


def _total(
    operation: str, build: Builder, input: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Value:
    type_ = dtype_of(dtype)
    default = input.type.dtype if input.type.is_inexact else "int64"
    return build.line(operation, [input], {**_reduced(dim, keepdim), "dtype": unless_default(type_, default)})


def _over_axes(operation: str, build: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return build.line(operation, [input], _reduced(dim, keepdim))


def _truth(operation: str, build: Builder, input: Value, dim: Any = None, keepdim: bool = False) -> Value:
    truth = build.line(operation, [cast(build, input, "bool")], _reduced(dim, keepdim))
    return cast(build, truth, "uint8" if input.type.dtype == "uint8" else None)


for _operation, _overloads in {
    "sum": ("sum.default", "sum.dim_IntList"),
    "prod": ("prod.default", "prod.dim_int"),
    "mean": ("mean.default", "mean.dim"),
}.items():
    operator(*(f"aten.{overload}" for overload in _overloads))(partial(_total, _operation))
for _operation, _overloads in {"max": ("amax.default", "max.default"), "min": ("amin.default", "min.default")}.items():
    operator(*(f"aten.{overload}" for overload in _overloads))(partial(_over_axes, _operation))
for _operation, _name in {"max": "any", "min": "all"}.items():
    operator(f"aten.{_name}.default", f"aten.{_name}.dim", f"aten.{_name}.dims")(partial(_truth, _operation))


@operator("aten.aminmax.default")
def aminmax(build: Builder, input: Value, dim: int | None, keepdim: bool) -> tuple[Value, Value]:
    return _over_axes("min", build, input, dim, keepdim), _over_axes("max", build, input, dim, keepdim)


operator("aten.logsumexp.default")(partial(_over_axes, "logsumexp"))


@operator("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(build: Builder, input: Value, dim: Any = None) -> Value:
    return build.line("sum", [cast(build, input, "bool")], _reduced(dim, False))


def _is_number(build: Builder, input: Value) -> Value:
    """Return where a tensor is not NaN."""
    return build.line("equal", [input, input])


def _numbers(build: Builder, input: Value) -> Value:
    """Return a tensor with 0 in place of NaN."""
    return build.line("masked_fill", [input, build.line("not_equal", [input, input])], {"value": 0.0})


@operator("aten.nansum.default")
def nansum(build: Builder, input: Value, dim: Any, keepdim: bool, dtype: Any) -> Value:
    numbers = _numbers(build, input) if input.type.is_inexact else input
    return build.line("sum", [numbers], {**_reduced(dim, keepdim), "dtype": dtype_of(dtype)})


@operator("aten.nanmean.default")
def nanmean(build: Builder, input: Value, dim: Any, keepdim: bool, dtype: Any) -> Value:
    attributes = _reduced(dim, keepdim)
    x = cast(build, input, dtype_of(dtype))
    total = build.line("sum", [_numbers(build, x)], attributes)
    return combined(build, "div", total, build.line("sum", [_is_number(build, x)], attributes))


def _variance(build: Builder, input: Value, dim: Any, keepdim: bool, correction: Any) -> Value:
    attributes = _reduced(dim, keepdim) | {"correction": unless_default(1 if correction is None else correction, 1)}
    return build.line("var", [input], attributes)


def _spread_and_mean(
    names: tuple[str, ...],
    build: Builder,
    input: Value,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Any = None,
) -> Value | tuple[Value, ...]:
    """Add what the names say: the variance, or its root, and the mean."""
    correction = (1 if unbiased else 0) if correction is None else correction
    variance = _variance(build, input, dim, keepdim, correction)
    first = build.line("sqrt", [variance]) if names[0] == "std" else variance
    return (first, _total("mean", build, input, dim, keepdim)) if len(names) == 2 else first


for _name in ("var", "std", "var_mean", "std_mean"):
    operator(*(f"aten.{_name}.{overload}" for overload in ("default", "dim", "correction")))(
        partial(_spread_and_mean, tuple(_name.split("_")))
    )


@operator("aten.linalg_vector_norm.default", "aten.frobenius_norm.dim")
def vector_norm(build: Builder, input: Value, dim: Any, keepdim: bool, ord: Any = 2, dtype: Any = None) -> Value:
    attributes = _reduced(dim, keepdim) | {"ord": unless_default(2 if ord is None else ord, 2)}
    x = cast(build, input, dtype_of(dtype))
    return build.line("vector_norm", [build.line("abs", [x]) if x.type.is_complex else x], attributes)


@operator("aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype", "aten.norm.ScalarOpt_dtype")
def norm(build: Builder, input: Value, p: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return vector_norm(build, input, dim, keepdim, p, dtype)


@operator("aten.linalg_matrix_norm.default", "aten.linalg_matrix_norm.str_ord")
def matrix_norm(build: Builder, input: Value, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Value:
    if ord == "fro":
        return vector_norm(build, input, dim, keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        return _norm_of_singular_values(build, cast(build, input, dtype_of(dtype)), ord, dim, keepdim)
    summed, searched = (axis % len(input.type.shape) for axis in (dim if abs(ord) == 1 else dim[::-1]))
    sums = vector_norm(build, input, summed, True, 1, dtype)
    norms = build.line("max" if ord > 0 else "min", [sums], {"axis": searched, "keepdim": True})
    return norms if keepdim else build.line("squeeze", [norms], {"axis": [summed, searched]})


def _norm_of_singular_values(build: Builder, input: Value, ord: Any, dim: Any, keepdim: bool) -> Value:
    """Return the sum, the largest or the smallest of the singular values of matrices in two axes."""
    rank = input.type.rank
    matrix = [axis % rank for axis in dim]
    order = [*(axis for axis in range(rank) if axis not in matrix), *matrix]
    last = input if order == list(range(rank)) else build.line("permute", [input], {"axes": order})
    values = build.line("svdvals", [last])
    norms = build.line({"nuc": "sum", 2: "max", -2: "min"}[ord], [values], {"axis": -1})
    for axis in sorted(matrix) if keepdim else ():
        norms = build.line("unsqueeze", [norms], {"axis": axis})
    return norms


@operator("aten.linalg_norm.default", "aten.linalg_norm.ord_str")
def linalg_norm(build: Builder, input: Value, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Value:
    axes = len(input.type.shape) if dim is None else len(dim)
    if ord is None or axes != 2:
        return vector_norm(build, input, dim, keepdim, ord, dtype)
    return matrix_norm(build, input, ord, [-2, -1] if dim is None else dim, keepdim, dtype)


@operator("aten.cdist.default", "aten._cdist_forward.default")
def cdist(build: Builder, x1: Value, x2: Value, p: float, compute_mode: int | None) -> Value:
    difference = build.line(
        "sub", [build.line("unsqueeze", [x1], {"axis": -2}), build.line("unsqueeze", [x2], {"axis": -3})]
    )
    return vector_norm(build, difference, -1, False, p)


@operator("aten.dist.default")
def distance(build: Builder, input: Value, other: Value, p: Any) -> Value:
    return build.line("vector_norm", [build.line("sub", [input, other])], {"ord": None if p == 2 else p})


@operator("aten.pairwise_distance.default")
def pairwise_distance(build: Builder, x1: Value, x2: Value, p: float, eps: float, keepdim: bool = False) -> Value:
    difference = build.line("sub", [x1, x2])
    shifted = build.line("add", [difference], {"value": eps}) if eps else difference
    return build.line("vector_norm", [shifted], {"axis": -1, "ord": None if p == 2 else p, "keepdim": keepdim or None})


@operator("aten.pdist.default", "aten._pdist_forward.default")
def pdist(build: Builder, input: Value, p: float) -> Value:
    """Distances of all pairs of different rows."""
    rows = input.type.shape[0]
    if not isinstance(rows, int):
        raise RuleError("pdist of a symbolic number of rows")
    pairs = [(i, j) for i in range(rows) for j in range(i + 1, rows)]
    sides = [build.line("index_select", [input], {"axis": 0, "indices": [pair[k] for pair in pairs]}) for k in (0, 1)]
    return build.line("vector_norm", [build.line("sub", sides)], {"axis": -1, "ord": None if p == 2 else p})


def _cumulative(operation: str, build: Builder, input: Value, dim: int, dtype: Any) -> Value:
    default = input.type.dtype if input.type.is_inexact else "int64"
    return build.line(operation, [input], {"axis": dim, "dtype": unless_default(dtype_of(dtype), default)})


for _operation in ("cumsum", "cumprod"):
    operator_and_in_place(f"aten.{_operation}.default")(partial(_cumulative, _operation))


@operator("aten.diff.default")
def diff(build: Builder, input: Value, n: int, dim: int, prepend: Value | None, append: Value | None) -> Value:
    parts = [value for value in (prepend, input, append) if value is not None]
    values = build.line("concat", parts, {"axis": dim}) if len(parts) > 1 else input
    for _ in range(n):
        after = build.line("slice", [values], {"axis": dim, "start": 1})
        before = build.line("slice", [values], {"axis": dim, "stop": -1})
        values = build.line("not_equal" if values.type.dtype == "bool" else "sub", [after, before])
    return values
