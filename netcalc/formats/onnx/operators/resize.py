"""Resizing of images, and sampling at positions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.expand import expanded
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.windows import plain
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, front
from netcalc.formats.onnx.operators import operator

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


@operator("Resize", "Upsample")
def resize(call: Call) -> Value:
    """Interpolation of the axes behind the channels, in the ways that PyTorch has."""
    x, rank = call.x(), call.type(0).rank
    sizes, scales = _wanted(call)
    if sizes != list(x.type.shape) and call.attribute("mode", "nearest") == "nearest":
        return _nearest(call, sizes, scales)
    if rank not in (3, 4, 5) or any(size != old for size, old in zip(sizes[:2], x.type.shape[:2], strict=True)):
        raise RuleError("resizing of other axes than those behind the channels")
    if sizes == list(x.type.shape):
        return x
    mode, corners = _mode(call, rank - 2, sizes)
    factors = (
        scales[2:] if scales and all(scale == s for scale, s in zip(scales[2:], scales[2:], strict=True)) else None
    )
    if (
        factors is not None
        and corners
        and any(n * f != size for n, f, size in zip(x.type.shape[2:], factors, sizes[2:], strict=True))
    ):
        raise RuleError("corners that stay in their places with sizes that are rounded")
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
        "mode": mode,
        "align_corners": corners or None,
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
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        wanted = _proportional([shape[axis] for axis in axes], wanted, min if policy == "not_larger" else max)
    for axis, size in zip(axes, wanted, strict=True):
        sizes[axis] = size
    return sizes, None


def _proportional(old: list[Any], wanted: list[Any], choose: Any) -> list[int]:
    """Return sizes of equal factors, none of which exceeds what is wanted, or falls below it."""
    if not all(isinstance(size, int) for size in [*old, *wanted]):
        raise RuleError("symbolic sizes that keep the aspect ratio")
    factor = choose(Fraction(new, size) for size, new in zip(old, wanted, strict=True))
    return [floor(size * factor + Fraction(1, 2)) for size in old]


def _nearest(call: Call, sizes: list[Any], scales: list[Any] | None) -> Value:
    """Return nearest elements: by interpolation where PyTorch takes the same ones, or by their indices on each axis."""
    way = call.attribute("coordinate_transformation_mode", "half_pixel" if call.version >= 11 else "asymmetric")
    rounding = call.attribute("nearest_mode", "round_prefer_floor" if call.version >= 11 else "floor")
    x, rank = call.x(), call.type(0).rank
    if scales is None:
        scales = [
            new / old if isinstance(old, int) and isinstance(new, int) else None
            for old, new in zip(x.type.shape, sizes, strict=True)
        ]
    spatial = rank in (3, 4, 5) and list(x.type.shape[:2]) == sizes[:2]
    pairs: list[Any] = [*zip(x.type.shape, sizes, scales, strict=True)]
    if not all(isinstance(old, int) and isinstance(new, int) for old, new, _ in pairs[2 if spatial else 0 :]):
        whole = [scale for _, _, scale in pairs[2:] if scale is not None and float(scale).is_integer()]
        if not spatial or way != "asymmetric" or rounding != "floor" or len(whole) != rank - 2:
            raise RuleError(f"nearest elements of a symbolic size by {way} and {rounding}")
        return call.line("interpolate", [x], {"scale_factor": plain([int(scale) for scale in whole])})
    places = [
        None if old == new else [_place(i, old, new, scale, way, rounding) for i in range(new)]
        for old, new, scale in pairs
    ]
    if spatial:
        for mode, shift in (("nearest", Fraction(0)), ("nearest-exact", Fraction(1, 2))):
            if all(
                p is None or p == [floor((i + shift) * Fraction(old, new)) for i in range(new)]
                for p, (old, new, _) in zip(places, pairs, strict=True)
            ):
                factors = [Fraction(new, old) for old, new, _ in pairs[2:]]
                whole = [int(f) for f in factors if f.denominator == 1]
                attributes = {"scale_factor": plain(whole)} if len(whole) == rank - 2 else {"size": plain(sizes[2:])}
                return call.line("interpolate", [x], {**attributes, "mode": None if mode == "nearest" else mode})
    for axis, listed in enumerate(places):
        if listed is not None:
            x = call.line("index_select", [x], {"axis": axis, "indices": listed})
    return x


def _place(i: int, old: int, new: int, scale: float, way: str, rounding: str) -> int:
    """Return the index of the element that is nearest to one of the result."""
    match way:
        case "half_pixel":
            x = (i + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            x = (i + 0.5) / scale - 0.5 if new > 1 else 0.0
        case "align_corners":
            x = i * (old - 1) / (new - 1) if new > 1 else 0.0
        case "asymmetric":
            x = i / scale
        case _:
            raise RuleError(f"nearest elements by {way}")
    rounded = {
        "floor": floor(x),
        "ceil": ceil(x),
        "round_prefer_floor": ceil(x - 0.5),
        "round_prefer_ceil": floor(x + 0.5),
    }
    return max(0, min(old - 1, rounded[rounding]))


def _floored(size: Any, scale: float) -> Any:
    if not isinstance(size, int):
        raise RuleError("a symbolic size times a fraction")
    return floor(size * scale)


def _mode(call: Call, axes: int, sizes: list[Any]) -> tuple[str, bool]:
    """Return PyTorch's mode, and True if the corners stay in their places."""
    mode = call.attribute("mode", "nearest")
    way = call.attribute("coordinate_transformation_mode", "half_pixel" if call.version >= 11 else "asymmetric")
    if way == "pytorch_half_pixel" and all(size != 1 for size in sizes[2:]):
        way = "half_pixel"
    if call.attribute("antialias", 0):
        raise RuleError("antialiasing, whose weights are others than PyTorch's")
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


@operator("AffineGrid")
def affine_grid(call: Call) -> Value:
    """Positions of an image's elements, between −1 and 1, moved by a matrix of each sample."""
    sizes = call.ints(1, "the size")[2:]
    corners = call.attribute("align_corners", 0)
    axes, dtype = len(sizes), call.type(0).dtype
    coordinates: list[Value] = []
    for axis in reversed(range(axes)):  # x first, which is the last axis
        size = sizes[axis]
        count = cast(call.build, call.line("arange", [], {"stop": size}), dtype)
        if corners:
            place = call.line("sub", [call.line("mul", [count], {"value": 2 / max(size - 1, 1)})], {"value": 1})
        else:
            middle = call.line("add", [call.line("mul", [count], {"value": 2})], {"value": 1 - size})
            place = call.line("div", [middle], {"value": size})
        apart = reshaped(call.build, place, [size if other == axis else 1 for other in range(axes)])
        coordinates.append(expanded(call.build, apart, sizes))
    points = call.line("stack", [*coordinates, call.build.filled(sizes, 1, dtype)], {"axis": axes})
    rows = call.line("flatten", [points], {"start_axis": 0, "end_axis": axes - 1})
    moved = call.line("matmul", [rows, call.line("transpose", [call.x()], {"axes": [-2, -1]})])
    return reshaped(call.build, moved, [call.shape(0)[0], *sizes, axes])


@operator("RoiAlign")
def roi_align(call: Call) -> Value:
    """Means of samples in the bins of boxes, each of an image by its number."""
    ratio = call.attribute("sampling_ratio", 0)
    if call.attribute("mode", "avg") != "avg" or ratio < 1:
        raise RuleError("maxima of samples, or as many samples as the boxes ask for")
    way = call.attribute("coordinate_transformation_mode", "half_pixel" if call.version >= 16 else "output_half_pixel")
    number = call.line("unsqueeze", [cast(call.build, call.x(2), call.type(1).dtype)], {"axis": 1})
    boxes = call.line("concat", [number, call.x(1)])
    attributes = {
        "output_size": [call.attribute("output_height", 1), call.attribute("output_width", 1)],
        "sampling_ratio": ratio,
        "spatial_scale": call.attribute("spatial_scale", 1.0),
        "aligned": way == "half_pixel" or None,
    }
    return call.line("roi_align", [call.x(), boxes], attributes)
