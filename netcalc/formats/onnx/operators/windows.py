"""Convolutions, and columns of windows as images."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, exact_div, product
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


def padding(call: Call, axes: int) -> Any:
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


def sized(call: Call, name: str, axes: int, default: int = 1) -> Any:
    """Return a size of each axis as a spec writes it, None for the default of all."""
    return unless(call.attribute(name) or [default] * axes, default)


def axes_of(call: Call) -> int:
    """Return the number of axes over which windows slide."""
    axes = call.type(0).rank - 2
    if axes not in (1, 2, 3):
        raise RuleError(f"windows over {axes} axes")
    return axes


@operator("Conv")
def conv(call: Call) -> Value:
    weight = call.x(1)
    attributes = convolution_attributes(call, weight)
    return weighted(call.build, f"conv{axes_of(call)}d", call.x(), weight, call.optional(2), attributes)


def convolution_attributes(call: Call, weight: Value) -> dict[str, Any]:
    """Return the attributes of a convolution, whose kernel has the sizes of a weight."""
    axes, group = axes_of(call), call.attribute("group", 1)
    return {
        "out": weight.type.shape[0],
        "kernel": plain(weight.type.shape[2:]),
        "stride": sized(call, "strides", axes),
        "padding": padding(call, axes),
        "dilation": sized(call, "dilations", axes),
        "groups": None if group == 1 else group,
    }


@operator("ConvTranspose")
def conv_transpose(call: Call) -> Value:
    axes, weight = axes_of(call), call.x(1)
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


@operator("Col2Im")
def col2im(call: Call) -> Value:
    """Windows, one column each, added into an image; of other than two axes axis by axis."""
    sizes, kernel = call.ints(1, "the size of the image"), call.ints(2, "the size of the windows")
    axes = len(sizes)
    pads = call.attribute("pads") or [0] * 2 * axes
    if axes == 2 and pads[:2] == pads[2:]:
        attributes = {
            "output_size": plain(sizes),
            "kernel": plain(kernel),
            "stride": sized(call, "strides", 2),
            "padding": unless(pads[:2], 0),
            "dilation": sized(call, "dilations", 2),
        }
        return call.line("fold", [call.x()], attributes)
    strides, dilations = (call.attribute(name) or [1] * axes for name in ("strides", "dilations"))
    batch, columns, _ = call.shape(0)
    spans = [size + pads[a] + pads[axes + a] - dilations[a] * (kernel[a] - 1) - 1 for a, size in enumerate(sizes)]
    counts = [span // stride + 1 for span, stride in zip(spans, strides, strict=True)]
    x = reshaped(call.build, call.x(), [batch, exact_div(columns, product(kernel)), *kernel, *counts])
    for axis, size in enumerate(sizes):
        sides = pads[axis], pads[axes + axis]
        x = _folded(call, x, axes - axis + 2, size, strides[axis], dilations[axis], sides)
    return x


def _folded(call: Call, x: Value, place: int, size: Dim, stride: int, dilation: int, sides: tuple[int, int]) -> Value:
    """Return windows added into an axis, which comes last: axis 2 has their elements, and another one the windows."""
    rest = [axis for axis in range(x.type.rank) if axis not in (2, place)]
    kept = [x.type.shape[axis] for axis in rest]
    kernel, count = x.type.shape[2], x.type.shape[place]
    x = reshaped(call.build, permuted(call.build, x, [*rest, 2, place]), [product(kept), kernel, count])
    attributes = {
        "output_size": [size + sum(sides), 1],
        "kernel": [kernel, 1],
        "stride": unless([stride, 1], 1),
        "dilation": unless([dilation, 1], 1),
    }
    x = call.line("fold", [x], attributes)
    if sides != (0, 0):
        x = call.line("slice", [x], {"axis": 2, "start": sides[0] or None, "stop": sides[0] + size})
    return reshaped(call.build, x, [*kept, size])
