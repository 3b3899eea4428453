"""Pooling: maxima, means and norms of windows, and maxima put back in their places."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import inf
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, maximum, product
from netcalc.dtypes import FLOATS
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator
from netcalc.formats.onnx.operators.windows import axes_of, padding, sized


class _Axis(NamedTuple):
    """The windows along an axis: its size, those of window, step and dilation, what is padded, and how many fit."""

    size: Dim
    kernel: int
    stride: int
    dilation: int
    before: Any
    after: Any
    number: Dim

    @property
    def span(self) -> int:
        """Distance from the first to the last element of a window, both included."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def beyond(self) -> Dim:
        """Elements of the last window that are behind the padding."""
        reached = (self.number - 1) * self.stride + self.span
        return maximum(reached - (self.before + self.size + self.after), 0)


def _windows(call: Call) -> list[_Axis]:
    """Return the windows along each axis, with padding in numbers."""
    axes = axes_of(call)
    kernel = call.attribute("kernel_shape")
    strides, dilations = call.attribute("strides") or [1] * axes, call.attribute("dilations") or [1] * axes
    rule, pads = call.attribute("auto_pad", "NOTSET"), call.attribute("pads") or [0] * 2 * axes
    listed = []
    for axis, size in enumerate(call.shape(0)[2:]):
        stride, span = strides[axis], dilations[axis] * (kernel[axis] - 1) + 1
        before, after = pads[axis], pads[axes + axis]
        if rule == "VALID":
            before = after = 0
        elif rule != "NOTSET":
            whole = maximum((-(-size // stride) - 1) * stride + span - size, 0)
            before, after = whole // 2, whole - whole // 2
            if rule == "SAME_LOWER":
                before, after = after, before
        rest = size + before + after - span
        count = rest // stride + 1
        if call.attribute("ceil_mode", 0):
            if not isinstance(size, int):
                raise RuleError("windows that reach past the end of a symbolic size")
            count = -(-rest // stride) + 1
            count -= 1 if (count - 1) * stride >= size + before else 0  # a window starts within the input or before it
        listed.append(_Axis(size, kernel[axis], stride, dilations[axis], before, after, count))
    return listed


def _padded(call: Call, x: Value, sides: Sequence[Sequence[Any]], number: float | None = None) -> Value:
    if all(side == 0 for pair in sides for side in pair):
        return x
    return call.line("pad", [x], {"padding": [list(pair) for pair in sides], "value": number})


def _sums(call: Call, x: Value, windows: Sequence[_Axis], beyond: Sequence[Sequence[Any]]) -> Value:
    """Return the sums of windows over the last axes of a tensor with its padding: of shifted parts, axis by axis."""
    x = _padded(call, x, beyond)
    for axis, window in enumerate(windows, x.type.rank - len(windows)):
        last = (window.number - 1) * window.stride + 1
        parts = [
            call.line(
                "slice",
                [x],
                {"axis": axis, "start": at or None, "stop": at + last, "step": unless([window.stride], 1)},
            )
            for at in range(0, window.span, window.dilation)
        ]
        x = reduce(lambda a, b: call.line("add", [a, b]), parts)
    return x


def _pool(call: Call, **more: Any) -> dict[str, Any]:
    axes = axes_of(call)
    kernel = plain(call.attribute("kernel_shape"))
    return {
        "kernel": kernel,
        "stride": unless(call.attribute("strides") or [1] * axes, kernel),
        "padding": padding(call, axes),
        "ceil_mode": bool(call.attribute("ceil_mode", 0)) or None,
        **more,
    }


def _fits(windows: Sequence[_Axis]) -> bool:
    """Return True for padding of at most half a window, as PyTorch's pooling takes it."""
    return all(2 * side <= w.kernel for w in windows for side in (w.before, w.after) if isinstance(side, int))


def _is_dilated(call: Call) -> bool:
    return any(step != 1 for step in call.attribute("dilations") or ())


@operator("MaxPool")
def max_pool(call: Call) -> Any:
    """Maxima with their places in the flattened input, where netcalc counts places in a channel."""
    axes, dtype, windows = axes_of(call), call.type(0).dtype, _windows(call)
    indices = call.has_result(1) or None
    x = cast(call.build, call.x(), None if dtype in FLOATS else "float32")
    attributes = _pool(call, dilation=sized(call, "dilations", axes), return_indices=indices)
    if not _fits(windows):
        if indices:
            raise RuleError("places of maxima with padding of more than half a window")
        x = _padded(call, x, [(window.before, window.after) for window in windows], -inf)
        attributes["padding"] = None
    outputs = call.build.lines(f"max_pool{axes}d", [x], attributes)
    if not indices:
        return cast(call.build, outputs[0], dtype)
    return [cast(call.build, outputs[0], dtype), _places(call, outputs[1])]


def _places(call: Call, place: Value) -> Value:
    """Return places in a channel as places in all of them, of which the last axis or the first changes fastest."""
    sizes = call.shape(0)[2:]
    if call.attribute("storage_order", 0) and len(sizes) > 1:
        terms = []
        for axis in range(len(sizes)):
            behind, before = product(sizes[axis + 1 :]), product(sizes[:axis])
            index = place if behind == 1 else call.line("div", [place], {"value": behind, "rounding": "floor"})
            index = index if axis == 0 else call.line("remainder", [index], {"value": sizes[axis]})
            terms.append(index if before == 1 else call.line("mul", [index], {"value": before}))
        place = call.line("add", terms)
    channels, size = product(call.shape(0)[:2]), product(sizes)
    if channels == 1:
        return place
    first = call.line("arange", [], {"stop": channels * size, "step": size})
    return call.line("add", [place, reshaped(call.build, first, [*call.shape(0)[:2], *[1] * len(sizes)])])


@operator("AveragePool")
def average_pool(call: Call) -> Value:
    """Means of windows, without the padding or with it; never with what is behind the padding."""
    windows, includes = _windows(call), bool(call.attribute("count_include_pad", 0))
    if not _is_dilated(call) and _fits(windows):
        padded = padding(call, axes_of(call)) is not None
        include = None if includes or not padded else False
        return call.line(f"avg_pool{axes_of(call)}d", [call.x()], _pool(call, count_include_pad=include))
    around = [(window.before, window.after) for window in windows]
    beyond = [(0, window.beyond) for window in windows]
    total = _sums(call, _padded(call, call.x(), around), windows, beyond)
    if all(window.beyond == 0 for window in windows) and (
        includes or not any(side for pair in around for side in pair)
    ):
        return call.line("div", [total], {"value": product([window.kernel for window in windows])})
    ones = call.build.filled([window.size for window in windows], 1, call.type(0).dtype)
    counts = _sums(call, _padded(call, ones, around, 1.0 if includes else None), windows, beyond)
    return call.line("div", [total, counts])


@operator("LpPool")
def lp_pool(call: Call) -> Value:
    axes, order, windows = axes_of(call), call.attribute("p", 2), _windows(call)
    x = call.line("abs", [call.x()]) if order % 2 else call.x()
    x = _padded(call, x, [(window.before, window.after) for window in windows])
    if _is_dilated(call):
        powers = _sums(call, call.line("pow", [x], {"value": order}), windows, [(0, w.beyond) for w in windows])
        return call.line("sqrt", [powers]) if order == 2 else call.line("pow", [powers], {"value": 1 / order})
    attributes = {**_pool(call), "padding": None}
    return call.line(f"lp_pool{axes}d", [x], {"norm_type": order, **attributes})


def _global(operation: str, call: Call) -> Value:
    return call.line(f"{operation}{axes_of(call)}d", [call.x()])


operator("GlobalAveragePool")(partial(_global, "global_avg_pool"))
operator("GlobalMaxPool")(partial(_global, "global_max_pool"))


@operator("GlobalLpPool")
def global_lp_pool(call: Call) -> Value:
    axes = list(range(2, call.type(0).rank))
    order = call.attribute("p", 2)
    return call.line("vector_norm", [call.x()], {"axis": axes, "ord": order, "keepdim": True})


@operator("MaxUnpool")
def max_unpool(call: Call) -> Value:
    """Elements at the places of their maxima in the whole flattened result, and zeros elsewhere.

    Places are those of a result without borders, also where a larger one is asked for.
    """
    axes = axes_of(call)
    kernel, strides = call.attribute("kernel_shape"), call.attribute("strides") or [1] * axes
    pads = call.attribute("pads") or [0] * 2 * axes
    sizes: list[Any] = [
        (size - 1) * stride + k - pads[axis] - pads[axes + axis]
        for axis, (size, stride, k) in enumerate(zip(call.shape(0)[2:], strides, kernel, strict=True))
    ]
    sizes = [*call.shape(0)[:2], *sizes]
    zeros = call.build.filled((product(sizes),), 0, call.type(0).dtype)
    flat = [call.line("flatten", [call.x(place)], {"start_axis": 0}) for place in (0, 1)]
    result = reshaped(call.build, call.line("scatter", [zeros, flat[1], flat[0]], {"axis": 0}), sizes)
    if not call.has(2):
        return result
    wanted = call.ints(2, "the shape of the result")
    return _padded(call, result, [(0, whole - size) for whole, size in zip(wanted[2:], sizes[2:], strict=True)])
