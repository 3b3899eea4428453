"""Operations on tensors, ``keras.ops``, in functional models: those along axes, and products."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.expand import expanded
from netcalc.formats.graph.lines.operands import cast, single, unless_default
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.configuration import Slice
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import front
from netcalc.formats.keras.layers._arithmetic import any_along
from netcalc.formats.keras.layers.merging import joined
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped

_REDUCTIONS = {"Mean": "mean", "Sum": "sum", "Max": "max", "Min": "min", "Prod": "prod"}


def _reduced(operation: str, call: Call) -> Operand:
    """Return a reduction over some axes, or all."""
    operand, axis = call.operand(0, "x"), call.get("axis")
    keepdim = call.flag("keepdims")
    call.without("initial")
    listed = list(range(operand.rank)) if axis is None else axis if isinstance(axis, list) else [axis]
    axes = sorted(front(one, operand.rank) for one in listed)
    stays = operand.first and keepdim
    x = operand.value if stays else call.last(operand)
    own = sorted(operand.axis(one) for one in axes) if stays else axes
    result = x
    more = {"correction": 0} if operation in ("var", "std") else {}
    if operation == "prod":
        for one in reversed(own):
            result = call.line("prod", [result], {"axis": one, "keepdim": keepdim or None})
    else:
        result = call.line(operation, [x], {"axis": single(own), "keepdim": keepdim or None, **more})
    return Operand(result, stays)


@layer("ops.Any", "ops.All")
def decided(call: Call) -> Operand:
    """Truth values along axes: if any holds, or all do."""
    operand, axis, keep = call.operand(0, "x"), call.get("axis"), call.flag("keepdims")
    listed = list(range(operand.rank)) if axis is None else axis if isinstance(axis, list) else [axis]
    x = cast(call.build, call.last(operand), "bool")
    x = call.line("logical_not", [x]) if call.layer.kind == "All" else x
    found = any_along(call, x, sorted(front(one, operand.rank) for one in listed), keep=keep)
    return Operand(call.line("logical_not", [found]) if call.layer.kind == "All" else found)


for _class, _operation in {**_REDUCTIONS, "Var": "var", "Std": "std"}.items():
    layer(f"ops.{_class}")(partial(_reduced, _operation))


@layer("ops.GetItem")
def get_item(call: Call) -> Operand:
    """Elements by an index of Python: numbers, slices, new axes and an ellipsis."""
    operand, key = call.operand(0, "x"), call.argument(1, "key")
    items = list(key) if isinstance(key, list) else [key]
    x, rank = call.last(operand), operand.rank
    named = sum(item is not None and item is not ... for item in items)
    if items.count(...) > 1 or named > rank:
        raise RuleError(f"an index of {named} axes of {rank}")
    place = items.index(...) if ... in items else len(items)
    items[place : place + 1] = [Slice(None, None, None)] * (rank - named)
    axis = 0
    for item in items:
        if item is None:
            x = call.line("unsqueeze", [x], {"axis": axis})
            axis += 1
        elif isinstance(item, Slice):
            x = _sliced(call, x, axis, item)
            axis += 1
        elif type(item) is int:
            x = call.line("select", [x], {"axis": axis, "index": item})
        else:
            raise RuleError(f"index {clipped(item)}")
    return Operand(x)


def _sliced(call: Call, x: Value, axis: int, item: Slice) -> Value:
    if not all(part is None or type(part) is int for part in item):
        raise RuleError("a slice whose ends are tensors")
    if item.step is not None and item.step < 1:
        if item != Slice(None, None, -1):
            raise RuleError("a slice with a negative step")
        return call.line("flip", [x], {"axis": axis})
    if item.start in (None, 0) and item.stop is None and item.step in (None, 1):
        return x
    attributes = {
        "axis": axis,
        "start": unless_default(item.start, 0),
        "stop": item.stop,
        "step": unless_default(item.step, 1),
    }
    return call.line("slice", [x], attributes)


@layer("ops.Concatenate")
def concatenate(call: Call) -> Operand:
    return joined(call, call.operands(0, "xs"), call.get("axis", 0))


@layer("ops.Stack")
def stack(call: Call) -> Operand:
    values = [call.last(operand) for operand in call.operands(0, "x")]
    axis = front(call.get("axis", 0), values[0].type.rank + 1)
    return Operand(call.line("stack", values, {"axis": axis}))


@layer("ops.ExpandDims")
def expand_dims(call: Call) -> Operand:
    x, axis = call.last(call.operand(0, "x")), call.get("axis", 0)
    for one in sorted(front(one, x.type.rank + 1) for one in (axis if isinstance(axis, list) else [axis])):
        x = call.line("unsqueeze", [x], {"axis": one})
    return Operand(x)


@layer("ops.Squeeze")
def squeeze(call: Call) -> Operand:
    x, axis = call.last(call.operand(0, "x")), call.get("axis")
    ones = [place for place, size in enumerate(x.type.shape) if size == 1]
    axes = ones if axis is None else [front(one, x.type.rank) for one in (axis if isinstance(axis, list) else [axis])]
    if not set(axes) <= set(ones):
        raise RuleError("an axis whose size is not 1")
    return Operand(call.line("squeeze", [x], {"axis": single(sorted(axes))}) if axes else x)


@layer("ops.Reshape")
def reshape(call: Call) -> Operand:
    """Other axes; the first one, if it is -1 or that of the batch, stays the batch."""
    operand, sizes = call.operand(0, "x"), call.get("newshape")
    sizes = [sizes] if type(sizes) is int else sizes
    if not isinstance(sizes, list) or not all(type(size) is int or size is None for size in sizes):
        raise RuleError(f"newshape {clipped(sizes)}")
    x: Any = call.last(operand)
    target: list[Any] = [-1 if size is None else size for size in sizes]
    rest_before, rest = operand.shape[1:], target[1:]
    if target and target[0] == -1 and -1 not in rest:
        kept: Any = 1
        for size in rest_before:
            kept = kept * size
        for size in rest:
            kept = kept // size if isinstance(kept, int) and kept % size == 0 else 0
        if kept == 1:
            target[0] = operand.shape[0]
    return Operand(reshaped(call.build, x, target))


@layer("ops.Transpose")
def transpose(call: Call) -> Operand:
    x, axes = call.last(call.operand(0, "x")), call.get("axes")
    order = list(range(x.type.rank))[::-1] if axes is None else [front(axis, x.type.rank) for axis in axes]
    if sorted(order) != list(range(x.type.rank)):
        raise RuleError(f"axes {clipped(axes)}")
    return Operand(permuted(call.build, x, order))


@layer("ops.Swapaxes")
def swap_axes(call: Call) -> Operand:
    x = call.last(call.operand(0, "x"))
    order = list(range(x.type.rank))
    first, second = (front(call.get(name), x.type.rank) for name in ("axis1", "axis2"))
    order[first], order[second] = order[second], order[first]
    return Operand(permuted(call.build, x, order))


@layer("ops.Matmul")
def matmul(call: Call) -> Operand:
    return Operand(call.line("matmul", [call.last(call.operand(0, "x1")), call.last(call.operand(1, "x2"))]))


@layer("ops.Einsum")
def einsum(call: Call) -> Operand:
    equation = str(call.get("subscripts", "")).replace(" ", "")
    operands = [call.last(call.operand(place, "")) for place in range(len(call.args))]
    return Operand(call.line("einsum", operands, {"equation": equation}))


@layer("ops.Split")
def split(call: Call) -> list[Operand]:
    """Equal parts, or parts that end at some indices."""
    x, parts = call.last(call.operand(0, "x")), call.get("indices_or_sections")
    axis = front(call.get("axis", 0), x.type.rank)
    size = x.type.shape[axis]
    if type(parts) is int:
        if not isinstance(size, int) or parts < 1 or size % parts:
            raise RuleError(f"{parts} equal parts of {size}")
        return [Operand(value) for value in call.build.lines("chunk", [x], {"chunks": parts, "axis": axis})]
    if not isinstance(parts, list) or not all(type(one) is int for one in parts) or not isinstance(size, int):
        raise RuleError(f"parts {clipped(parts)}")
    ends = [0, *parts, size]
    sizes = [after - before for before, after in pairwise(ends)]
    return [Operand(value) for value in call.build.lines("split", [x], {"sizes": sizes, "axis": axis})]


@layer("ops.Repeat")
def repeat(call: Call) -> Operand:
    x, axis = call.last(call.operand(0, "x")), call.get("axis")
    if axis is None:
        raise RuleError("repeated elements of all axes")
    attributes = {"repeats": call.integer("repeats"), "axis": front(axis, x.type.rank)}
    return Operand(call.line("repeat_interleave", [x], attributes))


@layer("ops.BroadcastTo")
def broadcast_to(call: Call) -> Operand:
    x, shape = call.last(call.operand(0, "x")), call.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int for size in shape):
        raise RuleError(f"shape {clipped(shape)}")
    return Operand(expanded(call.build, x, shape))


@layer("ops.Flip")
def flip(call: Call) -> Operand:
    x, axis = call.last(call.operand(0, "x")), call.get("axis")
    listed = list(range(x.type.rank)) if axis is None else axis if isinstance(axis, list) else [axis]
    return Operand(call.line("flip", [x], {"axis": single([front(one, x.type.rank) for one in listed])}))


@layer("ops.Pad")
def pad(call: Call) -> Operand:
    x, widths = call.last(call.operand(0, "x")), call.get("pad_width")
    call.without("mode", "constant")
    value = call.argument(1, "constant_values", 0.0)
    if not isinstance(widths, list) or len(widths) not in (1, x.type.rank) or isinstance(value, Operand):
        raise RuleError(f"pad_width {clipped(widths)}")
    pairs = widths * x.type.rank if len(widths) == 1 else widths
    axes = [axis for axis, (before, after) in enumerate(pairs) if before or after]
    if not axes:
        return Operand(x)
    attributes: dict[str, Any] = {"padding": [pairs[axis] for axis in axes], "axis": axes}
    if value:
        attributes["value"] = float(value)
    return Operand(call.line("pad", [x], attributes))
