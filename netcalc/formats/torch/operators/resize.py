"""Interpolation of images."""

from __future__ import annotations

from functools import partial
from math import floor
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.windows import plain
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


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


#: The operators of each mode.
_MODES = {
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest-exact": ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
    "linear": ("upsample_linear1d",),
    "bilinear": ("upsample_bilinear2d", "_upsample_bilinear2d_aa"),
    "bicubic": ("upsample_bicubic2d", "_upsample_bicubic2d_aa"),
    "trilinear": ("upsample_trilinear3d",),
    "lanczos": ("_upsample_lanczos2d_aa",),
}
for _mode, _names in _MODES.items():
    for _name in _names:
        _rule = partial(_interpolated, _mode, _name.endswith("_aa"))
        operator(f"aten.{_name}.vec", f"aten.{_name}.default")(_rule)
