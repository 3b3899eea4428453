"""Convolutions and pooling."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, product
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


def _padding(call: Call, axes: int) -> Any:
    """Return the padding of windows: the name of a rule, one number, or numbers for each side of each axis."""
    rule = call.attribute("auto_pad", "NOTSET")
    pads = call.attribute("pads") or [0] * 2 * axes
    if rule in ("SAME_UPPER", "SAME_LOWER"):
        return rule.lower()
    if rule == "VALID":
        return None
    if len(pads) != 2 * axes:
        raise RuleError(f"{len(pads)} numbers of padding for {axes} axes")
    sides = [
        before if before == after else [before, after] for before, after in zip(pads[:axes], pads[axes:], strict=True)
    ]
    return unless(sides, 0) if all(isinstance(side, int) for side in sides) else sides


def _sized(call: Call, name: str, axes: int, default: int = 1) -> Any:
    return unless(call.attribute(name) or [default] * axes, default)


def _axes(call: Call) -> int:
    axes = call.type(0).rank - 2
    if axes not in (1, 2, 3):
        raise RuleError(f"windows over {axes} axes")
    return axes


@operator("Conv")
def conv(call: Call) -> Value:
    weight = call.x(1)
    attributes = convolution_attributes(call, weight)
    return weighted(call.build, f"conv{_axes(call)}d", call.x(), weight, call.optional(2), attributes)


def convolution_attributes(call: Call, weight: Value) -> dict[str, Any]:
    """Return the attributes of a convolution, whose kernel has the sizes of a weight."""
    axes, group = _axes(call), call.attribute("group", 1)
    return {
        "out": weight.type.shape[0],
        "kernel": plain(weight.type.shape[2:]),
        "stride": _sized(call, "strides", axes),
        "padding": _padding(call, axes),
        "dilation": _sized(call, "dilations", axes),
        "groups": None if group == 1 else group,
    }


@operator("ConvTranspose")
def conv_transpose(call: Call) -> Value:
    axes, weight = _axes(call), call.x(1)
    group = call.attribute("group", 1)
    strides, dilations = call.attribute("strides") or [1] * axes, call.attribute("dilations") or [1] * axes
    extra = call.attribute("output_padding") or [0] * axes
    pads = _transposed_padding(call, axes, strides, dilations, extra)
    even = all(before == after for before, after in pads)
    # an uneven border is cut off the whole result, and so is one that PyTorch does not permit
    fits = even and all(e < max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True))
    attributes = {
        "out": weight.type.shape[1] * group,
        "kernel": plain(weight.type.shape[2:]),
        "stride": unless(strides, 1),
        "padding": unless([before for before, _ in pads], 0) if fits else None,
        "dilation": unless(dilations, 1),
        "groups": None if group == 1 else group,
        "output_padding": unless(extra, 0) if fits else None,
    }
    result = weighted(call.build, f"conv_transpose{axes}d", call.x(), weight, call.optional(2), attributes)
    if fits:
        return result
    changes = [[-before, extra[axis] - after] for axis, (before, after) in enumerate(pads)]
    return call.line("pad", [result], {"padding": changes})


def _transposed_padding(
    call: Call, axes: int, strides: list[int], dilations: list[int], extra: list[int]
) -> list[tuple[Any, Any]]:
    """Return what is cut off at both sides of each axis."""
    rule, wanted = call.attribute("auto_pad", "NOTSET"), call.attribute("output_shape")
    kernel = call.shape(1)[2:]
    if wanted is None and rule not in ("SAME_UPPER", "SAME_LOWER"):
        pads = (call.attribute("pads") if rule == "NOTSET" else None) or [0] * 2 * axes
        return [(pads[axis], pads[axes + axis]) for axis in range(axes)]
    sizes: list[Dim] = list(call.shape(0)[2:])
    wanted = [size * stride for size, stride in zip(sizes, strides, strict=True)] if wanted is None else wanted[-axes:]
    cut: list[tuple[Any, Any]] = []
    for axis in range(axes):
        whole = strides[axis] * (sizes[axis] - 1) + extra[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        total = whole - wanted[axis]
        if not isinstance(total, int):
            raise RuleError("padding of a transposed convolution that depends on a symbolic size")
        half = total // 2
        cut.append((half, total - half) if rule == "SAME_UPPER" else (total - half, half))
    return cut


def _pool(call: Call, **more: Any) -> dict[str, Any]:
    axes = _axes(call)
    kernel = plain(call.attribute("kernel_shape"))
    return {
        "kernel": kernel,
        "stride": unless(call.attribute("strides") or [1] * axes, kernel),
        "padding": _padding(call, axes),
        "ceil_mode": bool(call.attribute("ceil_mode", 0)) or None,
        **more,
    }


@operator("MaxPool")
def max_pool(call: Call) -> Any:
    """Maxima with their places in the flattened input, where netcalc counts places in a channel."""
    axes = _axes(call)
    indices = call.has_result(1) or None
    if indices and call.attribute("storage_order", 0):
        raise RuleError("places of maxima in column-major order")
    dilation = _sized(call, "dilations", axes)
    outputs = call.build.lines(f"max_pool{axes}d", [call.x()], _pool(call, dilation=dilation, return_indices=indices))
    if not indices:
        return outputs[0]
    channels, size = product(call.shape(0)[:2]), product(call.shape(0)[2:])
    if channels == 1:
        return list(outputs)
    first = call.line("arange", [], {"stop": channels * size, "step": size})
    first = call.line("reshape", [first], {"shape": [*call.shape(0)[:2], *[1] * axes]})
    return [outputs[0], call.line("add", [outputs[1], first])]


@operator("AveragePool")
def average_pool(call: Call) -> Value:
    if call.attribute("dilations") and plain(call.attribute("dilations")) != 1:
        raise RuleError("means over dilated windows")
    padded = _padding(call, _axes(call)) is not None
    include = None if call.attribute("count_include_pad", 0) or not padded else False
    return call.line(f"avg_pool{_axes(call)}d", [call.x()], _pool(call, count_include_pad=include))


@operator("LpPool")
def lp_pool(call: Call) -> Value:
    axes = _axes(call)
    attributes = _pool(call)
    if call.attribute("dilations") and plain(call.attribute("dilations")) != 1:
        raise RuleError("norms over dilated windows")
    padding = attributes.pop("padding")
    x = call.x()
    if padding is not None:
        x = _padded(call, x, padding)
    order = call.attribute("p", 2)
    x = call.line("abs", [x]) if order % 2 else x
    return call.line(f"lp_pool{axes}d", [x], {"norm_type": order, **attributes})


def _padded(call: Call, x: Value, padding: Any) -> Value:
    """Return a value with zeros around it, as windows have them."""
    axes = _axes(call)
    if isinstance(padding, str):
        kernel, strides = call.attribute("kernel_shape"), call.attribute("strides") or [1] * axes
        sides = []
        for size, k, s in zip(call.shape(0)[2:], kernel, strides, strict=True):
            if not isinstance(size, int):
                raise RuleError("padding that depends on a symbolic size")
            total = max(0, (-(-size // s) - 1) * s + k - size)
            sides.append(
                [total // 2, total - total // 2] if padding == "same_upper" else [total - total // 2, total // 2]
            )
    else:
        sides = padding if isinstance(padding, list) else [padding] * axes
    return call.line("pad", [x], {"padding": sides})


def _global(operation: str, call: Call) -> Value:
    return call.line(f"{operation}{_axes(call)}d", [call.x()])


operator("GlobalAveragePool")(partial(_global, "global_avg_pool"))
operator("GlobalMaxPool")(partial(_global, "global_max_pool"))


@operator("GlobalLpPool")
def global_lp_pool(call: Call) -> Value:
    axes = list(range(2, call.type(0).rank))
    order = call.attribute("p", 2)
    return call.line("vector_norm", [call.x()], {"axis": axes, "ord": order, "keepdim": True})


@operator("MaxUnpool")
def max_unpool(call: Call) -> Value:
    """Elements at the places of their maxima in the whole flattened result, and zeros elsewhere."""
    axes = _axes(call)
    kernel, strides = call.attribute("kernel_shape"), call.attribute("strides") or [1] * axes
    pads = call.attribute("pads") or [0] * 2 * axes
    sizes: list[Any] = [
        (size - 1) * stride + k - pads[axis] - pads[axes + axis]
        for axis, (size, stride, k) in enumerate(zip(call.shape(0)[2:], strides, kernel, strict=True))
    ]
    sizes = [*call.shape(0)[:2], *sizes]
    if call.has(2) and call.ints(2, "the shape of the result") != sizes:
        raise RuleError("places of maxima in a larger result")
    zeros = call.build.filled((product(sizes),), 0, call.type(0).dtype)
    flat = [call.line("flatten", [call.x(place)], {"start_axis": 0}) for place in (0, 1)]
    return call.line("reshape", [call.line("scatter", [zeros, flat[1], flat[0]], {"axis": 0})], {"shape": sizes})


@operator("Col2Im")
def col2im(call: Call) -> Value:
    """Windows, one column each, added into an image."""
    sizes, kernel = call.ints(1, "the size of the image"), call.ints(2, "the size of the windows")
    pads = call.attribute("pads") or [0] * 2 * len(sizes)
    if len(sizes) != 2 or pads[:2] != pads[2:]:
        raise RuleError("images of other than two axes, or with padding on one side")
    attributes = {
        "output_size": plain(sizes),
        "kernel": plain(kernel),
        "stride": _sized(call, "strides", 2),
        "padding": unless(pads[:2], 0),
        "dilation": _sized(call, "dilations", 2),
    }
    return call.line("fold", [call.x()], attributes)
