"""The same elements in another arrangement: shapes, axes, joining, cutting, repeating and padding."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly, product
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.concat import concatenated, pieces
from netcalc.formats.graph.lines.expand import broadcast_shape, expanded, tiled
from netcalc.formats.graph.lines.operands import single
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.slicing import bound, part
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, front
from netcalc.formats.onnx.operators import operator


@operator("Reshape")
def reshape(call: Call) -> Value:
    """The elements in another shape, in which 0 is the size that the axis has."""
    shape = call.shape(0)
    sizes = list(call.attribute("shape") if call.version < 5 else call.ints(1, "the shape"))
    if not call.attribute("allowzero", 0):
        sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    return reshaped(call.build, call.x(), sizes)


@operator("Flatten")
def flatten(call: Call) -> Value:
    """A matrix of the axes before one and those behind."""
    shape = call.shape(0)
    axis = call.attribute("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if axis == 0:
        return reshaped(call.build, call.x(), [1, -1])
    if axis == 1 and len(shape) > 1:
        return call.line("flatten", [call.x()]) if len(shape) > 2 else call.x()
    return reshaped(call.build, call.x(), [product(shape[:axis]), product(shape[axis:])])


@operator("Squeeze")
def squeeze(call: Call) -> Value:
    axes, shape = call.axes(1), call.shape(0)
    if axes is None:
        axes = [axis for axis, size in enumerate(shape) if size == 1]
    listed = sorted(front(axis, len(shape)) for axis in axes)
    if any(isinstance(shape[axis], int) and shape[axis] != 1 for axis in listed):
        raise RuleError(f"axes {listed} of a shape in which they are not 1")
    return call.line("squeeze", [call.x()], {"axis": single(listed)}) if listed else call.x()


@operator("Unsqueeze")
def unsqueeze(call: Call) -> Value:
    axes = call.axes(1) or []
    rank = call.type(0).rank + len(axes)
    result = call.x()
    for axis in sorted(front(axis, rank) for axis in axes):
        result = call.line("unsqueeze", [result], {"axis": axis})
    return result


@operator("Transpose")
def transpose(call: Call) -> Value:
    rank = call.type(0).rank
    return permuted(call.build, call.x(), call.attribute("perm") or list(range(rank))[::-1])


@operator("Expand")
def expand(call: Call) -> Value:
    shape = broadcast_shape([call.shape(0), call.ints(1, "the shape")])
    return expanded(call.build, call.x(), shape)


@operator("Tile")
def tile(call: Call) -> Value:
    if call.version < 6:
        raise RuleError("the form of opset 5 and before")
    repeats = call.ints(1, "the number of repetitions")
    if 0 in repeats:
        raise RuleError("no repetitions")
    return tiled(call.build, call.x(), repeats)


@operator("Concat")
def concat(call: Call) -> Value:
    tensors = [call.x(place) for place in range(len(call))]
    return concatenated(call.build, tensors, call.axis(tensors[0].type.rank, 1))


@operator("Split")
def split(call: Call) -> Any:
    axis = call.axis(call.type(0).rank)
    size = call.shape(0)[axis]
    if call.has(1):
        sizes: list[Any] = call.ints(1, "the sizes of the parts")
    elif call.attribute("split"):
        sizes = call.attribute("split")
    else:
        count = call.attribute("num_outputs", call.results)
        each = -(-size // count)
        sizes = [*[each] * (count - 1), size - each * (count - 1)]
    if len(sizes) != call.results:
        raise RuleError(f"{len(sizes)} parts and {call.results} results")
    equal = all(part_size == sizes[0] for part_size in sizes) and isinstance(sizes[0], int)
    attributes = {"chunks": len(sizes)} if equal else {"sizes": sizes}
    return pieces(call.build, call.x(), axis, sizes, "chunk" if equal else "split", attributes)


@operator("Slice")
def slice_(call: Call) -> Value:
    """Ranges of axes; the elements in between of a step above 1, and in reverse order of a negative one."""
    result = call.x()
    for start, stop, axis, step in zip(*call.slices(call.type(0).rank), strict=True):
        size = result.type.shape[axis]
        if isinstance(step, int) and step < 0:
            result = _reversed_part(call, result, axis, start, stop, step)
            continue
        first, last = bound(start, size), size if _is_end(stop) else bound(stop, size)
        result = part(call.build, result, axis, first, last, step, written=(start, stop))
    return result


def _is_end(stop: Any) -> bool:
    return isinstance(stop, int) and stop >= (1 << 31) - 1


def _reversed_part(call: Call, value: Value, axis: int, start: Any, stop: Any, step: int) -> Value:
    size = value.type.shape[axis]
    turned = call.line("flip", [value], {"axis": axis})
    ends_first = isinstance(stop, int) and stop < -(1 << 30)
    if isinstance(size, int):
        places = range(size)[slice(start, None if ends_first else stop, step)]
        if not places:
            return part(call.build, turned, axis, 0, 0)
        return part(call.build, turned, axis, size - 1 - places[0], size - places[-1], -step)
    whole = (isinstance(start, int) and start in (-1, (1 << 63) - 1)) and ends_first
    if not whole:
        raise RuleError("a part in reverse order of a symbolic size")
    return part(call.build, turned, axis, 0, size, -step)


@operator("Pad")
def pad(call: Call) -> Value:
    """Padding with a number, or by the elements themselves; the numbers are attributes before opset 11."""
    rank = call.type(0).rank
    if call.version < 11:
        pads, value = list(call.attribute("pads") or call.attribute("paddings") or []), call.attribute("value", 0.0)
    else:
        pads = call.ints(1, "the padding")
        value = call.number(2) if call.has(2) else 0.0
    axes = [front(axis, rank) for axis in call.axes(3) or range(rank)]
    sides = {axis: (pads[place], pads[len(axes) + place]) for place, axis in enumerate(axes)}
    sides = {axis: pair for axis, pair in sorted(sides.items()) if pair != (0, 0)}
    if not sides:
        return call.x()
    mode = {"edge": "replicate", "wrap": "circular"}.get(name := call.attribute("mode", "constant"), name)
    if any(isinstance(n, Poly) for pair in sides.values() for n in pair):
        raise RuleError("padding by a symbolic size")
    last = list(sides) == list(range(rank - len(sides), rank))
    attributes = {
        "padding": [before if before == after else [before, after] for before, after in sides.values()],
        "axis": None if last else single(list(sides)),
        "mode": None if mode == "constant" else mode,
        "value": value or None,
    }
    if value is not None or mode != "constant":
        return call.line("pad", [call.x()], attributes)
    inside = call.line("pad", [call.build.filled(call.shape(0), True, "bool")], attributes)
    return call.line("where", [inside, call.line("pad", [call.x()], attributes), call.x(2)])


@operator("DepthToSpace")
def depth_to_space(call: Call) -> Value:
    """Blocks of channels as blocks of an image; ``CRD`` is the order of PyTorch's pixel_shuffle."""
    size = call.attribute("blocksize")
    if call.attribute("mode", "DCR") == "CRD":
        return call.line("pixel_shuffle", [call.x()], {"upscale_factor": size})
    n, c, h, w = call.shape(0)
    split_up = reshaped(call.build, call.x(), [n, size, size, c // (size * size), h, w])
    order = call.line("permute", [split_up], {"axes": [0, 3, 4, 1, 5, 2]})
    return reshaped(call.build, order, [n, c // (size * size), h * size, w * size])


@operator("SpaceToDepth")
def space_to_depth(call: Call) -> Value:
    size = call.attribute("blocksize")
    if call.attribute("mode", "DCR") == "CRD":
        return call.line("pixel_unshuffle", [call.x()], {"downscale_factor": size})
    n, c, h, w = call.shape(0)
    split_up = reshaped(call.build, call.x(), [n, c, h // size, size, w // size, size])
    order = call.line("permute", [split_up], {"axes": [0, 3, 5, 1, 2, 4]})
    return reshaped(call.build, order, [n, c * size * size, h // size, w // size])


@operator("Trilu")
def trilu(call: Call) -> Value:
    """The elements above or below a diagonal, which may be an input, and zeros elsewhere."""
    upper, x = call.attribute("upper", 1), call.x()
    diagonal = call.number(1) if call.has(1) else 0
    if diagonal is not None and 0 not in x.type.shape:
        return call.line("triu" if upper else "tril", [x], {"diagonal": diagonal or None})
    if 0 in x.type.shape:
        return x
    rows, columns = x.type.shape[-2:]
    row = call.line("unsqueeze", [call.line("arange", [], {"stop": rows})], {"axis": 1})
    beside = call.line("sub", [call.line("arange", [], {"stop": columns}), row])
    number = reshaped(call.build, call.x(1), [])
    hidden = call.line("less" if upper else "greater", [beside, number])
    return call.line("masked_fill", [x, hidden], {"value": False if x.type.dtype == "bool" else 0})


@operator("CenterCropPad")
def center_crop_pad(call: Call) -> Value:
    rank, result = call.type(0).rank, call.x()
    axes = [front(axis, rank) for axis in call.attribute("axes") or range(rank)]
    for axis, wanted in zip(axes, call.ints(1, "the shape"), strict=True):
        size = result.type.shape[axis]
        if not isinstance(size, int) or not isinstance(wanted, int):
            raise RuleError("a crop by a symbolic size")
        if wanted < size:
            start = (size - wanted) // 2
            result = part(call.build, result, axis, start, start + wanted)
        elif wanted > size:
            before = (wanted - size) // 2
            result = call.line("pad", [result], {"padding": [[before, wanted - size - before]], "axis": axis})
    return result


def _no_rule(reason: str, call: Call) -> Any:
    raise RuleError(reason)


for _name in ("NonZero", "Compress", "Unique"):
    operator(_name)(partial(_no_rule, "the shape of its result depends on data"))
