"""Images of other sizes: cut out of others, and resized."""

from __future__ import annotations

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.windows import plain
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.operand import Operand

_ASPECT = "crop_to_aspect_ratio", "pad_to_aspect_ratio"


@layer("Resizing")
def resizing(call: Call) -> Operand:
    """An image of another size, between whose pixels is interpolated."""
    cropped, padded = (call.flag(name) for name in _ASPECT)
    call.without("antialias", False)
    call.without("fill_mode", "constant")
    fill, mode = call.number("fill_value", 0.0), call.choice("interpolation", ("bilinear",), "bilinear")
    x, target = _image(call), (call.integer("height"), call.integer("width"))
    if cropped:
        x = _of_aspect(call, x, target)
    elif padded:
        x = _filled(call, x, target, fill)
    return Operand(call.line("interpolate", [x], {"size": plain([*target]), "mode": mode}), True)


@layer("CenterCrop")
def center_crop(call: Call) -> Operand:
    """The middle of an image; of one that is smaller, the largest part of the same shape, resized."""
    x, target = _image(call), (call.integer("height"), call.integer("width"))
    sizes = _sizes(x)
    more = [size - wanted for size, wanted in zip(sizes, target, strict=True)]
    if min(more) >= 0:
        return Operand(_cut(call, x, target, [size // 2 for size in more]), True)
    part = _of_aspect(call, x, target)
    return Operand(call.line("interpolate", [part], {"size": plain([*target]), "mode": "bilinear"}), True)


@layer("RandomCrop")
def random_crop(call: Call) -> Operand:
    """The image itself, which is cut in training alone and must have the size already."""
    x = _image(call)
    if _sizes(x) != (call.integer("height"), call.integer("width")):
        raise RuleError("it cuts images in training alone, and passes on those of its input in their own size")
    call.note("RandomCrop acts in training alone, and is left out")
    return Operand(x, True)


def _image(call: Call) -> Value:
    """Return the input with channels as axis 1; RuleError if it is no batch of images."""
    if call.operand().rank != 4:
        raise RuleError("its input should have four axes")
    call.channels_last()
    call.argument(1, "training")  # true by default, and false in inference
    for name in ("data_format", "seed", "bounding_box_format"):
        call.get(name)
    return call.first()


def _sizes(x: Value) -> tuple[int, int]:
    """Return height and width; RuleError if they are open."""
    height, width = x.type.shape[2:]
    if not isinstance(height, int) or not isinstance(width, int):
        raise RuleError("the size of its images is open, and decides what it does")
    return height, width


def _of_aspect(call: Call, x: Value, target: tuple[int, int]) -> Value:
    """Return the middle part of an image, as large as it can be with the ratio of the target's sides."""
    height, width = _sizes(x)
    part = (
        max(min(height, int(float(width * target[0]) / target[1])), 1),
        max(min(width, int(float(height * target[1]) / target[0])), 1),
    )
    starts = [int(float(size - own) / 2) for size, own in zip((height, width), part, strict=True)]
    return _cut(call, x, part, starts)


def _filled(call: Call, x: Value, target: tuple[int, int], fill: float) -> Value:
    """Return an image filled up on both sides to the ratio of the target's sides."""
    height, width = _sizes(x)
    whole = (
        max(height, int(float(width * target[0]) / target[1])),
        max(width, int(float(height * target[1]) / target[0])),
    )
    sides = [int(float(size - own) / 2) for size, own in zip(whole, (height, width), strict=True)]
    if not any(sides):
        return x
    return call.line("pad", [x], {"padding": sides, "value": float(fill) or None})


def _cut(call: Call, x: Value, sizes: tuple[int, int], starts: list[int]) -> Value:
    cuts = [[-start, start + own - size] for start, own, size in zip(starts, sizes, _sizes(x), strict=True)]
    return call.line("pad", [x], {"padding": cuts}) if any(map(any, cuts)) else x
