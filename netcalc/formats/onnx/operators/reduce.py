"""Reductions over axes, sums along an axis, places of extremes, and sorting."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import FLOATS, DType, limits
from netcalc.formats.graph.lines.operands import cast, single
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, front
from netcalc.formats.onnx.operators import operator


def _axes(call: Call) -> list[int] | None:
    """Return the axes of a reduction from the front; an empty list for none, None for all of them."""
    rank = call.type(0).rank
    axes, keeps = call.axes(1), call.attribute("noop_with_empty_axes", 0)
    if not axes:
        return [] if keeps else None
    return sorted(front(axis, rank) for axis in axes)


#: The result for no elements: 0, or the least number of a type, or the greatest.
_OF_NONE = {"vector_norm": 0, "logsumexp": -1, "max": -1, "min": 1}


def _of_none(operation: str, dtype: DType) -> Any:
    sign = _OF_NONE[operation]
    if not sign or dtype in FLOATS:
        return sign * inf if sign else 0
    return sign > 0 if dtype == "bool" else limits(dtype)[sign > 0]


def _over(call: Call, operation: str, x: Value, **more: Any) -> Value:
    axes, rank = _axes(call), x.type.rank
    keep = bool(call.attribute("keepdims", 1))
    if axes == [] or not rank:
        return x
    listed = list(range(rank)) if axes is None else axes
    if operation in _OF_NONE and any(x.type.shape[axis] == 0 for axis in listed):
        shape = [1 if axis in listed else size for axis, size in enumerate(x.type.shape) if keep or axis not in listed]
        return call.build.filled(shape, _of_none(operation, x.type.dtype), x.type.dtype)
    # negative axes for the last ones, by which norms are recognized
    last = listed == [rank - 1]
    attributes = {
        "axis": -1 if last else None if axes is None and not keep else single(listed),
        "keepdim": keep or None,
    }
    return cast(call.build, call.line(operation, [x], {**attributes, **more}), x.type.dtype)


def _plainly(operation: str, call: Call) -> Value:
    return _over(call, operation, call.x())


@operator("ReduceMean")
def mean(call: Call) -> Value:
    """Means over axes, which are global pooling over all axes of an image behind its channels."""
    rank, axes = call.type(0).rank, _axes(call)
    if rank in (4, 5) and axes == list(range(2, rank)) and call.attribute("keepdims", 1) and call.type(0).is_float:
        return call.line(f"global_avg_pool{rank - 2}d", [call.x()])
    return _over(call, "mean", call.x())


for _name, _operation in {"Sum": "sum", "Max": "max", "Min": "min", "Prod": "prod"}.items():
    operator(f"Reduce{_name}")(partial(_plainly, _operation))


@operator("ReduceL1")
def l1(call: Call) -> Value:
    return _over(call, "sum", call.line("abs", [call.x()]))


@operator("ReduceL2")
def l2(call: Call) -> Value:
    if call.type(0).dtype in FLOATS:
        return _over(call, "vector_norm", call.x()) if _axes(call) != [] else call.line("abs", [call.x()])
    root = call.line("sqrt", [cast(call.build, _over(call, "sum", call.line("square", [call.x()])), "float32")])
    return cast(call.build, root, call.type(0).dtype)


@operator("ReduceLogSum")
def log_sum(call: Call) -> Value:
    return call.line("log", [_over(call, "sum", call.x())])


@operator("ReduceLogSumExp")
def log_sum_exp(call: Call) -> Value:
    if _axes(call) == [] or not call.type(0).rank:
        return call.x()
    return _over(call, "logsumexp", call.x())


@operator("ReduceSumSquare")
def sum_square(call: Call) -> Value:
    return _over(call, "sum", call.line("square", [call.x()]))


def _place(operation: str, call: Call) -> Value:
    """The place of the first extreme along an axis, or of the last, which is the first from behind."""
    x, rank = call.x(), call.type(0).rank
    axis = call.axis(rank)
    keep = bool(call.attribute("keepdims", 1)) or None
    if not call.attribute("select_last_index", 0):
        return call.line(operation, [x], {"axis": axis, "keepdim": keep})
    turned = call.line("flip", [x], {"axis": axis})
    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise RuleError("the last extreme along a symbolic size")
    place = call.line(operation, [turned], {"axis": axis, "keepdim": keep})
    return call.line("sub", [place], {"value": size - 1, "reverse": True})


operator("ArgMax")(partial(_place, "argmax"))
operator("ArgMin")(partial(_place, "argmin"))


def _cumulative(operation: str, call: Call) -> Value:
    """Sums along an axis, also in reverse order and without the element itself."""
    rank, x = call.type(0).rank, call.x()
    axis = front(int(call.ints(1, "the axis")[0]), rank)
    reverse = call.attribute("reverse", 0)
    value = call.line("flip", [x], {"axis": axis}) if reverse else x
    value = cast(call.build, call.line(operation, [value], {"axis": axis}), x.type.dtype)
    if call.attribute("exclusive", 0):
        start = 1 if operation == "cumprod" else 0
        value = call.line("slice", [value], {"axis": axis, "stop": -1})
        value = call.line("pad", [value], {"padding": [[1, 0]], "axis": axis, "value": start or None})
    return call.line("flip", [value], {"axis": axis}) if reverse else value


operator("CumSum")(partial(_cumulative, "cumsum"))
operator("CumProd")(partial(_cumulative, "cumprod"))


@operator("TopK")
def topk(call: Call) -> Any:
    k = call.attribute("k") if call.version < 10 else call.ints(1, "the number of elements")[0]
    axis = call.axis(call.type(0).rank, -1)
    attributes = {
        "k": k,
        "axis": None if axis == call.type(0).rank - 1 else axis,
        "largest": None if call.attribute("largest", 1) else False,
    }
    return list(call.build.lines("topk", [call.x()], attributes))
