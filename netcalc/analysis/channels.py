"""The axis of channels of every tensor of a program, followed from operation to operation.

Operations state theirs (``Operation.channel_axis``): convolutions, pools and norms of channels axis 1 of a batch,
linear layers, norms of features, attention and recurrent layers the last one.  Permutations and reshapes move it,
and operations on elements keep it, so that it is followed in both directions.  Where a reshape splits channels, as
heads of attention do, the innermost part has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from netcalc.dims import Dim
from netcalc.ir import Body, OpNode, Program, Value
from netcalc.opdef import Operation

#: Axis of channels by tensor; None where two uses contradict each other.
Axes: TypeAlias = dict[Value, int | None]

#: Operations that keep the order of axes, though not all sizes.
_KEEPS = {
    *("pad", "slice", "roll", "flip", "concat", "split", "chunk", "expand", "repeat_interleave", "tile", "cumsum"),
    *("key_value_cache", "dropout", "stochastic_depth", "softmax", "cast", "where", "masked_fill", "glu"),
}
#: Times that a program is gone through in each direction; what is not known then stays unknown.
_SWEEPS = 3


def channel_axes(program: Program) -> Mapping[Value, int | None]:
    """Return the axis of channels of each tensor where it is known, by value; None where calls of a body differ."""
    contested: set[Value] = set()
    while True:
        axes: Axes = dict.fromkeys(contested)
        count = len(contested)
        for _ in range(_SWEEPS):
            before = dict(axes)
            _forward(program.main, axes, set(), contested)
            _backward(program.main, axes, set())
            if axes == before or len(contested) > count:
                break
        if len(contested) == count:
            return axes


def _forward(body: Body, axes: Axes, visited: set[Body], contested: set[Value]) -> None:
    visited.add(body)
    for node in body.nodes:
        if isinstance(node, OpNode):
            for value in node.outputs:
                _set(axes, value, _output_axis(node, value, axes))
            continue
        for outer, inner in zip(node.inputs, node.body.inputs, strict=True):
            if outer is not None and inner is not None and axes.get(outer) is not None:
                if inner in axes and axes[inner] != axes[outer]:
                    contested.add(inner)
                _set(axes, inner, axes[outer])
        if node.body not in visited:
            _forward(node.body, axes, visited, contested)
        for outer, inner in zip(node.outputs, node.body.outputs, strict=True):
            _set(axes, outer, axes.get(inner))


def _backward(body: Body, axes: Axes, visited: set[Body]) -> None:
    visited.add(body)
    for node in reversed(body.nodes):
        if isinstance(node, OpNode):
            for source in node.inputs:
                if source is not None:
                    _set(axes, source, _input_axis(node, source, axes))
            continue
        is_contested = any(value in axes and axes[value] is None for value in node.body.inputs if value is not None)
        for result, end in () if is_contested else zip(node.outputs, node.body.outputs, strict=True):
            _set(axes, end, axes.get(result))
        if node.body not in visited:
            _backward(node.body, axes, visited)
        for outer, inner in zip(node.inputs, node.body.inputs, strict=True):
            if outer is not None and inner is not None:
                _set(axes, outer, axes.get(inner))


def _set(axes: Axes, value: Value, axis: int | None) -> None:
    """Set the axis of a tensor that is not known yet."""
    if axis is not None and value not in axes and 0 <= axis < value.known_type.rank:
        axes[value] = axis


def _output_axis(node: OpNode, output: Value, axes: Axes) -> int | None:
    shape = output.known_type.shape
    stated = node.op.channels_at(len(shape))
    if stated is not None:
        return stated
    sources = [value for value in node.inputs if value is not None]
    known = (
        axis
        for value in sources
        if (at := axes.get(value)) is not None
        and (axis := _moved(node.op, at, value.known_type.shape, shape, back=False)) is not None
    )
    return next(known, None)


def _input_axis(node: OpNode, source: Value, axes: Axes) -> int | None:
    shape = source.known_type.shape
    stated = node.op.channels_at(len(shape))
    if stated is not None:
        return stated if source is node.inputs[0] else None
    known = (
        axis
        for value in node.outputs
        if (at := axes.get(value)) is not None
        and (axis := _moved(node.op, at, value.known_type.shape, shape, back=True)) is not None
    )
    return next(known, None)


def _moved(op: Operation, axis: int, shape: Sequence[Dim], to: Sequence[Dim], *, back: bool) -> int | None:
    """Return the place to which an operation moves an axis, or ``back`` from its result to its input."""
    mover = _MOVERS.get(op.name)
    if mover is not None:
        order = mover(op, len(to) if op.name == "unsqueeze" and not back else len(shape))
        return order[axis] if back else (order.index(axis) if axis in order else None)
    if op.name in ("reshape", "flatten", "unflatten", "squeeze", "unsqueeze"):
        return _reshaped(shape, to, axis)
    if op.name in ("mean", "sum", "max", "min", "var", "select"):
        return _reduced(op, len(shape), len(to), axis) if not back else None
    if tuple(shape) == tuple(to) or (len(shape) == len(to) and op.name in _KEEPS):
        return axis
    if op.combines or op.name in _KEEPS:  # broadcast: the last axes stand for each other
        return axis + len(to) - len(shape)
    return None


def _permuted(op: Operation, rank: int) -> list[int]:
    return [axis % rank for axis in op.axes]  # type: ignore[attr-defined]


def _transposed(op: Operation, rank: int) -> list[int]:
    order = list(range(rank))
    first, second = (axis % rank for axis in op.axes)  # type: ignore[attr-defined]
    order[first], order[second] = second, first
    return order


#: Axes of the input by axis of the result.
_MOVERS: Mapping[str, Callable[[Operation, int], list[int]]] = {"permute": _permuted, "transpose": _transposed}


def _reduced(op: Operation, rank: int, left: int, axis: int) -> int | None:
    """Return the place of an axis among those that a reduction leaves; None if it is reduced itself."""
    if rank == left:
        return axis
    given = getattr(op, "axis", None)
    gone = {at % rank for at in ([given] if isinstance(given, int) else given or range(rank))}
    return None if axis in gone else axis - sum(at < axis for at in gone)


def _reshaped(shape: Sequence[Dim], to: Sequence[Dim], axis: int) -> int | None:
    """Return the axis of a reshaped tensor whose elements are those of an axis, of its innermost part, or around it.

    >>> _reshaped((1, 128, 512), (1, 128, 8, 64), 2), _reshaped((2, 64, 7, 7), (2, 64, 49), 1)
    (3, 1)
    >>> _reshaped((2, 64, 7, 7), (2, 3136), 1), _reshaped((4, 6), (3, 8), 0)
    (1, None)
    """
    inner = _product(shape[axis + 1 :])
    ends = [at for at in range(len(to)) if _product(to[at + 1 :]) == inner]
    same = [at for at in ends if to[at] == shape[axis]]
    parts = [at for at in ends if to[at] != 1] or ends
    if same or parts:
        return same[0] if same else parts[0]
    before = _product(shape[:axis])
    around = {_product(shape[end:]) for end in range(axis + 2, len(shape) + 1)}
    return next((at for at in _starts(to, before) if _product(to[at + 1 :]) in around), None)


def _starts(shape: Sequence[Dim], before: Dim) -> Iterator[int]:
    return (at for at in range(len(shape)) if _product(shape[:at]) == before)


def _product(sizes: Sequence[Dim]) -> Dim:
    return math.prod(sizes, start=1)
