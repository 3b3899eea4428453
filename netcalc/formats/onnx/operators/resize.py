"""Resizing of images, and sampling at positions."""

from __future__ import annotations

from math import floor
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, front
from netcalc.formats.onnx.operators import operator
from netcalc.formats.torch.operators._windows import plain

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


@operator("Resize", "Upsample")
def resize(call: Call) -> Value:
    """Interpolation of the axes behind the channels, in the ways that PyTorch has."""
    x, rank = call.x(), call.type(0).rank
    sizes, scales = _wanted(call)
    if rank not in (3, 4, 5) or any(size != old for size, old in zip(sizes[:2], x.type.shape[:2], strict=True)):
        raise RuleError("resizing of other axes than those behind the channels")
    if sizes == list(x.type.shape):
        return x
    mode, corners = _mode(call, rank - 2)
    factors = (
        scales[2:] if scales and all(scale == s for scale, s in zip(scales[2:], scales[2:], strict=True)) else None
    )
    exact = factors is not None and all(
        isinstance(old, int) and floor(old * factor) == new
        for old, factor, new in zip(x.type.shape[2:], factors, sizes[2:], strict=True)
    )
    if factors is not None and not exact and not corners and _not_integer(factors):
        raise RuleError("resizing by factors to a symbolic size")
    use_scale = factors is not None and (exact or not _not_integer(factors))
    assert not use_scale or factors is not None
    attributes = {
        "size": None if use_scale else plain(sizes[2:]),
        "scale_factor": plain([int(f) if float(f).is_integer() else f for f in factors or []]) if use_scale else None,
        "mode": None if mode == "nearest" else mode,
        "align_corners": corners or None,
        "antialias": bool(call.attribute("antialias", 0)) or None,
    }
    return call.line("interpolate", [x], attributes)


def _not_integer(factors: list[Any]) -> bool:
    return not all(float(factor).is_integer() for factor in factors)


def _wanted(call: Call) -> tuple[list[Any], list[Any] | None]:
    """Return the sizes of the result, and the factors where these are given."""
    shape, place = call.shape(0), 1 if call.version < 11 else 2
    axes = [front(axis, len(shape)) for axis in call.attribute("axes") or range(len(shape))]
    if call.node.op == "Upsample" and call.version < 9:
        factors = list(call.attribute("scales") or [])
    else:
        factors = list(call.needed(place, "the factor").elements) if call.has(place) else []
    if factors:
        scales = [1.0] * len(shape)
        for axis, factor in zip(axes, factors, strict=True):
            scales[axis] = float(factor)
        whole = [n * int(s) if s.is_integer() else _floored(n, s) for n, s in zip(shape, scales, strict=True)]
        return whole, scales
    sizes = list(shape)
    wanted = call.ints(3, "the size")
    if call.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise RuleError("sizes that keep the aspect ratio")
    for axis, size in zip(axes, wanted, strict=True):
        sizes[axis] = size
    return sizes, None


def _floored(size: Any, scale: float) -> Any:
    if not isinstance(size, int):
        raise RuleError("a symbolic size times a fraction")
    return floor(size * scale)


def _mode(call: Call, axes: int) -> tuple[str, bool]:
    """Return PyTorch's mode, and True if the corners stay in their places."""
    mode = call.attribute("mode", "nearest")
    way = call.attribute("coordinate_transformation_mode", "half_pixel" if call.version >= 11 else "asymmetric")
    if way == "pytorch_half_pixel" or (way == "half_pixel_symmetric" and call.has(2)):
        way = "half_pixel"
    if mode == "nearest":
        rounding = call.attribute("nearest_mode", "round_prefer_floor" if call.version >= 11 else "floor")
        if way == "asymmetric" and rounding == "floor":
            return "nearest", False
        if way == "half_pixel" and rounding == "round_prefer_ceil":
            return "nearest-exact", False
        raise RuleError(f"nearest elements by {way} and {rounding}, which PyTorch does not have")
    if way not in ("half_pixel", "align_corners"):
        raise RuleError(f"interpolation at coordinates by {way}")
    if call.attribute("exclude_outside", 0):
        raise RuleError("weights without those outside of the image")
    corners = way == "align_corners"
    if mode == "cubic":
        if axes != 2 or call.attribute("cubic_coeff_a", -0.75) != -0.75:
            raise RuleError("cubic interpolation in another way than PyTorch's")
        return "bicubic", corners
    return _LINEAR[axes], corners


@operator("GridSample")
def grid_sample(call: Call) -> Value:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(name := call.attribute("mode", "linear"), name)
    padding = call.attribute("padding_mode", "zeros")
    attributes = {
        "mode": None if mode == "bilinear" else mode,
        "padding_mode": None if padding == "zeros" else padding,
        "align_corners": bool(call.attribute("align_corners", 0)) or None,
    }
    return call.line("grid_sample", [call.x(0), call.x(1)], attributes)
