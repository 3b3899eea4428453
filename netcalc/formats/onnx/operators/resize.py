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
from netcalc.formats.onnx.operators.deform import largest_samples
from netcalc.formats.onnx.operators.interpolation import Axis, coordinate, interpolated, way_of

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


@operator("Resize", "Upsample")
def resize(call: Call) -> Value:
    """Interpolation: of the axes behind the channels in the ways that PyTorch has, and of any axes by neighbors."""
    x = call.x()
    for name in ("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "nearest_mode"):
        call.attribute(name)  # exporters write them all, also where the mode does not ask for them
    sizes, scales = _wanted(call)
    parts = _parts(call)
    if sizes == list(x.type.shape) and parts is None and not (scales and any(scale != 1 for scale in scales)):
        return x
    if call.attribute("mode", "nearest") == "nearest":
        return _nearest(call, sizes, scales, parts)
    if parts is None and (attributes := _as_in_torch(call, sizes, scales)) is not None:
        return call.line("interpolate", [x], attributes)
    return interpolated(call, x, _resized_axes(call, sizes, scales, parts))


def _resized_axes(
    call: Call, sizes: list[Any], scales: list[Any] | None, parts: dict[int, tuple[Any, Any]] | None
) -> list[Axis]:
    """Return the axes that are resized; RuleError if one has a symbolic size."""
    axes = []
    for place, (old, new) in enumerate(zip(call.shape(0), sizes, strict=True)):
        part = None if parts is None else parts.get(place)
        if old == new and part is None and (scales is None or scales[place] == 1):
            continue
        if not isinstance(old, int) or not isinstance(new, int):
            raise RuleError("interpolation of a symbolic size in another way than PyTorch's")
        axes.append(Axis(place, old, new, new / old if scales is None else scales[place], part))
    return axes


def _parts(call: Call) -> dict[int, tuple[Any, Any]] | None:
    """Return the ends of the part of each axis that is taken, as numbers or as values; None for whole axes."""
    if way_of(call) != "tf_crop_and_resize":
        return None
    rank = call.type(0).rank
    axes = [front(axis, rank) for axis in call.attribute("axes") or range(rank)]
    known = call.known(1)
    if known is not None:
        ends: list[Any] = [float(end) for end in known.elements]
    else:
        listed = cast(call.build, call.x(1), "float64")
        ends = [call.line("select", [listed], {"axis": 0, "index": place}) for place in range(2 * len(axes))]
    parts = {axis: (ends[place], ends[len(axes) + place]) for place, axis in enumerate(axes)}
    return {axis: part for axis, part in parts.items() if part != (0.0, 1.0)}


def _as_in_torch(call: Call, sizes: list[Any], scales: list[Any] | None) -> dict[str, Any] | None:
    """Return the attributes of PyTorch's interpolation with the same result; None if it has none."""
    shape, rank = call.shape(0), call.type(0).rank
    if rank not in (3, 4, 5) or any(size != old for size, old in zip(sizes[:2], shape[:2], strict=True)):
        return None
    if (settings := _mode(call, rank - 2, sizes)) is None:
        return None
    mode, corners = settings
    factors = None if scales is None else scales[2:]
    whole = factors is not None and all(float(factor).is_integer() for factor in factors)
    if (
        factors is not None
        and corners
        and any(n * f != size for n, f, size in zip(shape[2:], factors, sizes[2:], strict=True))
    ):
        return None  # the corners that stay in their places are those of sizes that are not rounded
    exact = factors is not None and all(
        isinstance(old, int) and floor(old * factor) == new
        for old, factor, new in zip(shape[2:], factors, sizes[2:], strict=True)
    )
    use_scale = factors is not None and (exact or whole)
    if factors is not None and not use_scale and not corners:
        return None
    return {
        "size": None if use_scale else plain(sizes[2:]),
        "scale_factor": plain([int(f) if float(f).is_integer() else f for f in factors or []]) if use_scale else None,
        "mode": mode,
        "align_corners": corners or None,
    }


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


def _nearest(call: Call, sizes: list[Any], scales: list[Any] | None, parts: dict[int, tuple[Any, Any]] | None) -> Value:
    """Return nearest elements: by interpolation where PyTorch takes the same ones, or by their indices on each axis."""
    way = way_of(call)
    rounding = call.attribute("nearest_mode", "round_prefer_floor" if call.version >= 11 else "floor")
    x, rank = call.x(), call.type(0).rank
    if parts is not None:
        raise RuleError(f"nearest elements by {way}")
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
    x = coordinate(way, i, old, new, scale)
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


def _mode(call: Call, axes: int, sizes: list[Any]) -> tuple[str, bool] | None:
    """Return PyTorch's mode, and True if the corners stay in their places; None for a way that PyTorch lacks."""
    mode = call.attribute("mode", "nearest")
    way = way_of(call)
    if way == "pytorch_half_pixel" and all(size != 1 for size in sizes[2:]):
        way = "half_pixel"
    if (
        way not in ("half_pixel", "align_corners")
        or call.attribute("antialias", 0)
        or call.attribute("exclude_outside", 0)
    ):
        return None
    corners = way == "align_corners"
    if mode == "cubic":
        return ("bicubic", corners) if axes == 2 and call.attribute("cubic_coeff_a", -0.75) == -0.75 else None
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
    """Means of samples in the bins of boxes, each of an image by its number, or the largest of their corners."""
    ratio = call.attribute("sampling_ratio", 0)
    if ratio < 1:
        raise RuleError("as many samples as the boxes ask for")
    way = call.attribute("coordinate_transformation_mode", "half_pixel" if call.version >= 16 else "output_half_pixel")
    if call.attribute("mode", "avg") == "max":
        return largest_samples(call, way)
    number = call.line("unsqueeze", [cast(call.build, call.x(2), call.type(1).dtype)], {"axis": 1})
    boxes = call.line("concat", [number, call.x(1)])
    attributes = {
        "output_size": [call.attribute("output_height", 1), call.attribute("output_width", 1)],
        "sampling_ratio": ratio,
        "spatial_scale": call.attribute("spatial_scale", 1.0),
        "aligned": way == "half_pixel" or None,
    }
    return call.line("roi_align", [call.x(), boxes], attributes)
