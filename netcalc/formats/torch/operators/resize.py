"""Operators on images: interpolation, padding, sampling at positions, windows as columns, shuffles."""

from __future__ import annotations

from functools import partial
from math import floor
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.linear import plain, unless
from netcalc.formats.torch.operators.operands import single

# -- interpolation ----------------------------------------------------------------------------------


def _interpolated(
    mode: str,
    antialias: bool,
    build: Builder,
    input: Value,
    output_size: Any,
    align_corners: bool = False,
    scale_factors: Any = None,
    **scales: float | None,
) -> Value:
    if any(scale is not None for scale in scales.values()):
        scale_factors = _consistent(input, output_size, list(scales.values()))
    factors = None if not scale_factors else [int(f) if f == int(f) else f for f in scale_factors]
    attributes = {
        "size": None if factors else plain(output_size),
        "scale_factor": plain(factors) if factors else None,
        "mode": None if mode == "nearest" else mode,
        "align_corners": align_corners or None,
        "antialias": antialias or None,
    }
    return build.line("interpolate", [input], attributes)


def _consistent(x: Value, sizes: list[Any], factors: list[Any]) -> list[Any]:
    """Return factors that positions are computed with; RuleError unless they give the sizes."""
    pairs = zip(x.type.shape[2:], sizes, factors, strict=True)
    if not all(factor is not None and floor(n * factor) == size for n, size, factor in pairs):
        raise RuleError(f"interpolation to sizes {sizes} at positions by other factors, {factors}")
    return factors


for _name, _mode in (
    ("upsample_nearest1d", "nearest"),
    ("upsample_nearest2d", "nearest"),
    ("upsample_nearest3d", "nearest"),
    ("_upsample_nearest_exact1d", "nearest-exact"),
    ("_upsample_nearest_exact2d", "nearest-exact"),
    ("_upsample_nearest_exact3d", "nearest-exact"),
    ("upsample_linear1d", "linear"),
    ("upsample_bilinear2d", "bilinear"),
    ("upsample_bicubic2d", "bicubic"),
    ("upsample_trilinear3d", "trilinear"),
    ("_upsample_bilinear2d_aa", "bilinear"),
    ("_upsample_bicubic2d_aa", "bicubic"),
    ("_upsample_lanczos2d_aa", "lanczos"),
):
    operator(f"aten.{_name}.vec", f"aten.{_name}.default")(partial(_interpolated, _mode, _name.endswith("_aa")))


# -- padding ----------------------------------------------------------------------------------------


@operator("aten.pad.default")
def padded(build: Builder, input: Value, pad: list[Any], mode: str, value: float | None) -> Value:
    """Pad the last axes; torch lists the last axis first."""
    pairs = {-1 - place: (pad[2 * place], pad[2 * place + 1]) for place in range(len(pad) // 2)}
    changed = {axis: sides for axis, sides in sorted(pairs.items()) if sides != (0, 0)}
    if not changed:
        return input
    last = list(changed) == list(range(-len(changed), 0))
    attributes = {
        "padding": [before if before == after else [before, after] for before, after in changed.values()],
        "axis": None if last else single(list(changed)),
        "mode": None if mode == "constant" else mode,
        "value": value or None,
    }
    return build.line("pad", [input], attributes)


@operator("aten.constant_pad_nd.default")
def constant_pad(build: Builder, input: Value, pad: list[Any], value: float) -> Value:
    return padded(build, input, pad, "constant", value)


def _pad_by(mode: str, build: Builder, input: Value, padding: list[Any]) -> Value:
    return padded(build, input, padding, mode, None)


for _axes in (1, 2, 3):
    operator(f"aten.reflection_pad{_axes}d.default")(partial(_pad_by, "reflect"))
    operator(f"aten.replication_pad{_axes}d.default")(partial(_pad_by, "replicate"))


@operator("aten._pad_circular.default")
def circular_pad(build: Builder, input: Value, pad: list[Any]) -> Value:
    return padded(build, input, pad, "circular", None)


# -- positions --------------------------------------------------------------------------------------


@operator("aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(
    build: Builder, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    attributes = {
        "mode": (None, "nearest", "bicubic")[interpolation_mode],
        "padding_mode": (None, "border", "reflection")[padding_mode],
        "align_corners": align_corners or None,
    }
    return build.line("grid_sample", [input, grid], attributes)


@operator("aten.affine_grid_generator.default")
def affine_grid(build: Builder, theta: Value, size: list[Any], align_corners: bool) -> Value:
    """Positions of all elements, from −1 to 1 along each axis, mapped by a matrix for each sample."""
    sizes = size[2:]
    if not all(isinstance(n, int) for n in sizes):
        raise RuleError("affine_grid of a symbolic size")
    axes = len(sizes)
    columns = []
    for axis in reversed(range(axes)):  # x is the last axis
        one = build.line("constant", [], {"value": _positions(sizes[axis], align_corners), "dtype": theta.type.dtype})
        shaped = build.line("reshape", [one], {"shape": [-1 if at == axis else 1 for at in range(axes)]})
        columns.append(build.line("expand", [shaped], {"shape": list(sizes)}))
    ones = build.line("constant", [], {"value": 1.0, "shape": list(sizes), "dtype": theta.type.dtype})
    stacked = build.line("stack", [*columns, ones], {"axis": -1})
    points = build.line("flatten", [stacked], {"start_axis": 0, "end_axis": -2})
    # products and a sum, as torch counts no matrix product here
    products = build.line(
        "mul", [build.line("unsqueeze", [points], {"axis": 1}), build.line("unsqueeze", [theta], {"axis": 1})]
    )
    mapped = build.line("sum", [products], {"axis": -1})
    return build.line("unflatten", [mapped], {"axis": 1, "sizes": list(sizes)})


def _positions(count: int, align_corners: bool) -> list[float]:
    if count == 1:
        return [0.0]
    ends = [2 * index / (count - 1) - 1 for index in range(count)]
    return ends if align_corners else [end * (count - 1) / count for end in ends]


# -- windows and shuffles ---------------------------------------------------------------------------


@operator("aten.im2col.default")
def im2col(build: Builder, input: Value, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    return build.line("unfold", [input], _columns(kernel_size, dilation, padding, stride))


@operator("aten.col2im.default")
def col2im(
    build: Builder, input: Value, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Value:
    attributes = {"output_size": plain(output_size), **_columns(kernel_size, dilation, padding, stride)}
    return build.line("fold", [input], attributes)


def _columns(kernel: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    return {
        "kernel": plain(kernel),
        "dilation": unless(dilation, 1),
        "padding": unless(padding, 0),
        "stride": unless(stride, 1),
    }


@operator("aten.pixel_shuffle.default")
def pixel_shuffle(build: Builder, input: Value, upscale_factor: int) -> Value:
    return build.line("pixel_shuffle", [input], {"upscale_factor": upscale_factor})


@operator("aten.pixel_unshuffle.default")
def pixel_unshuffle(build: Builder, input: Value, downscale_factor: int) -> Value:
    return build.line("pixel_unshuffle", [input], {"downscale_factor": downscale_factor})


@operator("aten.channel_shuffle.default", "aten.native_channel_shuffle.default")
def channel_shuffle(build: Builder, input: Value, groups: int) -> Value:
    return build.line("channel_shuffle", [input], {"groups": groups})
