"""Images sampled at positions, and in regions."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


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


@operator("torchvision.roi_align.default")
def roi_align(
    build: Builder,
    input: Value,
    rois: Value,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Value:
    if sampling_ratio < 1:
        raise RuleError(
            f"roi_align with sampling_ratio {sampling_ratio}: the number of samples depends on the boxes",
            hint="set the sampling_ratio of the module to 1 or more",
        )
    attributes = {
        "output_size": [pooled_height, pooled_width],
        "sampling_ratio": sampling_ratio,
        "spatial_scale": None if spatial_scale == 1 else spatial_scale,
        "aligned": aligned or None,
    }
    return build.line("roi_align", [input, rois], attributes)


@operator("aten.affine_grid_generator.default")
def affine_grid(build: Builder, theta: Value, size: list[Any], align_corners: bool) -> Value:
    """Positions of all elements, from −1 to 1 along each axis, mapped by a matrix for each sample."""
    sizes = size[2:]
    if not all(isinstance(n, int) for n in sizes):
        raise RuleError("affine_grid of a symbolic size")
    axes = len(sizes)
    columns = []
    for axis in reversed(range(axes)):  # x is the last axis
        along = build.line("constant", [], {"value": _positions(sizes[axis], align_corners), "dtype": theta.type.dtype})
        shaped = build.line("reshape", [along], {"shape": [-1 if at == axis else 1 for at in range(axes)]})
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
