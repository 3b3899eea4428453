"""Convolutions: plain, transposed, depthwise and separable."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import activated
from netcalc.formats.keras.layers._windows import axes_of, channels, filters_first, padding
from netcalc.formats.keras.operand import Operand


@layer("Conv1D", "Conv2D", "Conv3D")
def conv(call: Call) -> Operand:
    axes, filters, groups = axes_of(call), call.integer("filters"), call.integer("groups")
    if channels(call) % groups:
        raise RuleError(f"{groups} groups of {channels(call)} channels")
    kernel = call.sizes("kernel_size", axes)
    shape = (*kernel, channels(call) // groups, filters)
    attributes = _attributes(call, filters, kernel, groups)
    weight = call.weight("weight", "kernel", shape, filters_first(axes))
    result = weighted(call.build, f"conv{axes}d", call.first(), weight, _bias(call, filters), attributes)
    return activated(call, Operand(result, True))


@layer("DepthwiseConv1D", "DepthwiseConv2D")
def depthwise_conv(call: Call) -> Operand:
    axes, groups = axes_of(call), channels(call)
    multiplier, kernel = call.integer("depth_multiplier"), call.sizes("kernel_size", axes)
    weight = call.weight(
        "weight", "kernel", (*kernel, groups, multiplier), _by_channel(axes, kernel, groups * multiplier)
    )
    attributes = _attributes(call, groups * multiplier, kernel, groups)
    bias = _bias(call, groups * multiplier)
    result = weighted(call.build, f"conv{axes}d", call.first(), weight, bias, attributes)
    return activated(call, Operand(result, True))


@layer("SeparableConv1D", "SeparableConv2D")
def separable_conv(call: Call) -> Operand:
    axes, groups, filters = axes_of(call), channels(call), call.integer("filters")
    multiplier, kernel = call.integer("depth_multiplier"), call.sizes("kernel_size", axes)
    inner = groups * multiplier
    attributes = _attributes(call, inner, kernel, groups)
    if isinstance(attributes["padding"], list) and isinstance(attributes["padding"][0], list):  # causal
        raise RuleError("padding 'causal' is not supported")
    depthwise, pointwise = f"{call.around.path}.depthwise", f"{call.around.path}.pointwise"
    form, shape = _by_channel(axes, kernel, inner), (*kernel, groups, multiplier)
    first = call.weight("weight", "depthwise_kernel", shape, form, path=depthwise)
    shape = (*[1] * axes, inner, filters)
    second = call.weight("weight", "pointwise_kernel", shape, filters_first(axes), path=pointwise)
    bias = call.weight("bias", "bias", (filters,), path=pointwise) if call.flag("use_bias", True) else None
    hidden = weighted(call.build, f"conv{axes}d", call.first(), first, None, attributes)
    result = weighted(call.build, f"conv{axes}d", hidden, second, bias, {"out": filters, "kernel": 1})
    return activated(call, Operand(result, True))


@layer("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def conv_transpose(call: Call) -> Operand:
    """A convolution of which the border is cut off, or that is filled up with zeros, as Keras chooses its size."""
    axes, filters = axes_of(call), call.integer("filters")
    kernel, stride = call.sizes("kernel_size", axes), call.sizes("strides", axes, 1)
    dilation = call.sizes("dilation_rate", axes, 1)
    extra = None if call.get("output_padding") is None else call.sizes("output_padding", axes, least=0)
    call.without("groups", 1)
    cuts = _cuts(call, kernel, stride, dilation, extra)
    added = [before - after for before, after in cuts]
    fits = all(
        before >= 0 and 0 <= more < max(s, d)
        for (before, _), more, s, d in zip(cuts, added, stride, dilation, strict=True)
    )
    attributes = {
        "out": filters,
        "kernel": plain(kernel),
        "stride": unless(stride, 1),
        "padding": unless([before for before, _ in cuts], 0) if fits else None,
        "dilation": unless(dilation, 1),
        "output_padding": unless(added, 0) if fits else None,
    }
    weight = call.weight("weight", "kernel", (*kernel, filters, channels(call)), filters_first(axes))
    bias = _bias(call, filters)
    is_plain = fits or bias is None
    operation = f"conv_transpose{axes}d"
    if is_plain:
        result = weighted(call.build, operation, call.first(), weight, bias, attributes)
        if not fits:
            result = call.line("pad", [result], {"padding": [[-before, -after] for before, after in cuts]})
    else:
        result = _with_added_bias(call, operation, attributes, (weight, bias), cuts)
    return activated(call, Operand(result, True))


def _with_added_bias(
    call: Call, operation: str, attributes: dict[str, Any], weights: tuple[Value, Value | None], cuts: list[Any]
) -> Value:
    """Return a transposed convolution, its border filled with zeros, to which the bias is added too."""
    weight, bias = weights
    assert bias is not None
    if all(before >= 0 and after >= 0 for before, after in cuts):  # nothing is filled up
        result = weighted(call.build, operation, call.first(), weight, bias, attributes)
        return call.line("pad", [result], {"padding": [[-before, -after] for before, after in cuts]})
    result = weighted(call.build, operation, call.first(), weight, None, attributes)
    result = call.line("pad", [result], {"padding": [[-before, -after] for before, after in cuts]})
    column = call.line("reshape", [bias], {"shape": [bias.type.shape[0], *[1] * (result.type.rank - 2)]})
    return call.line("add", [result, column])


def _cuts(
    call: Call, kernel: list[int], stride: list[int], dilation: list[int], extra: list[int] | None
) -> list[tuple[int, int]]:
    """Return how much of the whole result is cut off before and after each axis; a negative number is filled up."""
    rule = call.choice("padding", ("valid", "same"), "valid")
    cuts = []
    for axis, (size, step, apart) in enumerate(zip(kernel, stride, dilation, strict=True)):
        window = (size - 1) * apart + 1
        more = None if extra is None else extra[axis]
        if rule == "valid":
            cuts.append((0, -(max(window, step) - window if more is None else more)))
            continue
        total = step + window - 2 if more is None else window + window % 2 - 2 + more
        left = min(total // 2 + total % 2, window - 1)
        cuts.append((window - 1 - left, window - 1 - (total - left)))
    return cuts


def _attributes(call: Call, filters: int, kernel: list[int], groups: int) -> dict[str, Any]:
    axes = len(kernel)
    stride, dilation = call.sizes("strides", axes, 1), call.sizes("dilation_rate", axes, 1)
    call.without("groups", groups)
    return {
        "out": filters,
        "kernel": plain(kernel),
        "stride": unless(stride, 1),
        "padding": padding(call, kernel, stride, dilation),
        "dilation": unless(dilation, 1),
        "groups": None if groups == 1 else groups,
    }


def _by_channel(axes: int, kernel: list[int], filters: int) -> Form:
    """Return the form of a kernel (window, channels, multiplier), which becomes (channels·multiplier, 1, window)."""
    return Form((axes, axes + 1, *range(axes)), shape=(filters, 1, *kernel))


def _bias(call: Call, filters: int) -> Value | None:
    return call.weight("bias", "bias", (filters,)) if call.flag("use_bias", True) else None
