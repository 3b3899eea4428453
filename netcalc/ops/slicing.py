"""Indexing: ranges, single indices, and indices from a list or a tensor; shifting and flipping."""

from collections.abc import Sequence
from typing import Annotated, Any

from netcalc.dims import Dim, maximum, minimum
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import Context, Domain, Example, Reach, RuleError, attr, axes_of, normal_axis, ports, whole_number
from netcalc.ops import operation
from netcalc.ops._lists import Axes, Sizes, Whole, Wholes, listed
from netcalc.ops._movement import MOVES, Movement, normal_axes, resized
from netcalc.tensor_type import TensorType


def _ends(value: Any) -> Any:
    return tuple(None if item is None else whole_number(item, least=None) for item in listed(value))


_END = {"type": ["integer", "null"]}
_Ends = Annotated[
    tuple[Any, ...], BeforeValidator(_ends), WithJsonSchema({"anyOf": [_END, {"type": "array", "items": _END}]})
]


@operation
class Slice(Movement):
    """A range along an axis, or along several at once: x[start:stop:step].

    As in Python ``stop`` is not included, negative indices count from the end, and indices past an end stand for that
    end.  Steps are positive; flip reverses an axis.  A range from an index to itself is
    empty; one that starts past the end, or ends before it starts, is an error.  For a list of axes ``start``, ``stop``
    and ``step`` are lists too, or one value for all axes.
    """

    name = "slice"
    takes_empty = True
    view = True
    reference = "basic slicing of torch.Tensor"
    shape_rule = "(…, d, …) → (…, ⌈(stop − start)/step⌉, …)"
    example = Example(((2, 10),), {"axis": 1, "start": 1, "step": 2})
    usage = ("x: [1, 197, 768]", "- slice: {axis: 1, start: 1}")

    axis: Axes = attr("axis or axes")
    start: Wholes = attr("first index", default=0)
    stop: _Ends = attr("index after the last; null is the end", default=None)
    step: Sizes = attr("difference between consecutive indices", default=1)

    def ranges(self) -> list[tuple[int, Any, Any, Any]]:
        """Return (axis, start, stop, step) for each axis; RuleError if the lists have different lengths."""
        count = len(self.axis)
        columns = []
        for name, values in (("start", self.start), ("stop", self.stop), ("step", self.step)):
            if len(values) not in (1, count):
                raise RuleError(f"slice: {len(values)} values of {name} for {count} axes")
            columns.append(values if len(values) == count else values * count)
        return list(zip(self.axis, *columns, strict=True))

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axes = normal_axes(self.axis, x.rank, "slice")
        sizes: dict[int, Dim] = {}
        for axis, (_, start, stop, step) in zip(axes, self.ranges(), strict=True):
            size = x.shape[axis]
            if start > size:
                raise RuleError(f"slice: index {start} is past the end of axis {axis} of {x}")
            first, end = _from_front(start, size), size if stop is None else _from_front(stop, size)
            if end < first:
                raise RuleError(f"slice: the range from {start} to {stop} of axis {axis} of {x} ends before it starts")
            end = minimum(end, size)
            formula = "stop - start" if step == 1 else "ceil_div(stop - start, step)"
            sizes[axis] = ctx.size(f"axis {axis}", formula, start=first, stop=end, step=step)
        return resized(x, sizes)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, dict.fromkeys(self.axis, "unknown"))]


def _from_front(index: Dim, size: Dim) -> Dim:
    """Return an index counted from the front, which may be past the end of the axis."""
    return maximum(size + index, 0) if index < 0 else index


@operation
class Select(Movement):
    """The elements at one index along an axis, which is removed; a negative index counts from the end."""

    name = "select"
    takes_empty = True
    view = True
    reference = "torch.select"
    shape_rule = "(…, d, …) → (…, …)"
    example = Example(((2, 5, 4),), {"axis": 1, "index": 0})
    usage = ("x: [1, 197, 768]", "- select: {axis: 1, index: 0}", "- linear: 1000")

    axis: int = attr("axis to remove")
    index: Whole = attr("index along the axis")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axis = normal_axis(self.axis, x.rank, "select")
        check_indices("select", (self.index,), axis, x)
        return x.with_shape(*x.shape[:axis], *x.shape[axis + 1 :])


@operation
class Gather(Movement):
    """The elements of the input at the positions along an axis that ``index`` holds.

    With axis 1 the result at (i, j, k) is input[i, index[i, j, k], k].  The index has as many axes as the input, is not
    longer than the input along the other axes, and has the shape of the result.
    """

    name = "gather"
    kernel_suffices = MOVES
    reference = "torch.gather"
    inputs = ports("input", "index")
    shape_rule = "(…), index (…) → as the index"
    example = Example(((2, 5), TensorType((2, 3), "int64")), {"axis": 1})
    usage = (
        "logits: [32, 1000]",
        "labels: {shape: [32, 1], dtype: int64, range: [0, 1000]}",
        "- {from: [logits, labels], gather: {axis: 1}}",
    )

    axis: int = attr("axis of the indices")

    def infer(self, ctx: Context, x: TensorType, index: TensorType) -> TensorType:
        require_index("gather", index)
        if index.rank != x.rank:
            raise RuleError(f"gather takes an index with as many dimensions as its input: {index} against {x}")
        axis = normal_axis(self.axis, x.rank, "gather")
        for other, (size, needed) in enumerate(zip(x.shape, index.shape, strict=True)):
            if other != axis and needed > size:
                raise RuleError(f"gather along axis {axis}: the index {index} is longer than {x} in axis {other}")
        return x.with_shape(*index.shape)

    def domains(self, x: TensorType, index: TensorType) -> Sequence[Domain | None]:
        return (None, Domain(0, x.shape[self.axis]))


@operation
class IndexSelect(Movement):
    """The elements at a list of indices along an axis, in the order of the list.

    The list is ``indices``, whose negative numbers count from the end, or the vector ``index``.
    """

    name = "index_select"
    kernel_suffices = MOVES
    reference = "torch.index_select"
    inputs = ports("input", "index?")
    shape_rule = "(…, d, …), index (k) → (…, k, …)"
    example = Example(((2, 5),), {"axis": 1, "indices": [0, 2, -1]})
    usage = ("x: [32, 197, 768]", "- index_select: {axis: 1, indices: [0, -1]}")

    axis: int = attr("axis of the indices")
    indices: Wholes | None = attr("list of indices; null is the input index", default=None)

    def infer(self, ctx: Context, x: TensorType, index: TensorType | None = None) -> TensorType:
        axis = normal_axis(self.axis, x.rank, "index_select")
        if (index is None) == (self.indices is None):
            present = "neither" if index is None else "both"
            raise RuleError(f"index_select takes either indices or the input index, and has {present}", code="E303")
        if index is None:
            indices = self.indices or ()
            check_indices("index_select", indices, axis, x)
            if not indices:
                raise RuleError("index_select has an empty list of indices")
            return resized(x, {axis: len(indices)})
        require_index("index_select", index)
        if index.rank > 1:
            raise RuleError(f"index_select takes a vector of indices, and this index is {index}")
        return resized(x, {axis: index.elements})

    def domains(self, x: TensorType, index: TensorType | None = None) -> Sequence[Domain | None]:
        return (None, Domain(0, x.shape[self.axis]))


@operation
class Roll(Movement):
    """Shifts the elements along axes, cyclically."""

    name = "roll"
    reference = "torch.roll"
    shape_rule = "unchanged"
    example = Example(((2, 5),), {"shifts": 1, "axis": 1})
    usage = ("x: [1, 56, 56, 96]", "- roll: {shifts: [-3, -3], axis: [1, 2]}")

    shifts: Wholes = attr("shift towards the end for each axis")
    axis: Axes | None = attr("axis or axes; null shifts the flattened tensor", default=None)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axes = (0,) if self.axis is None else self.axis
        if len(axes) != len(self.shifts):
            raise RuleError(f"roll: {len(self.shifts)} shifts for {len(axes)} axes")
        if self.axis is not None:
            for axis in self.axis:
                normal_axis(axis, x.rank, "roll")
        return x


@operation
class Flip(Movement):
    """Reverses the order of the elements along axes."""

    name = "flip"
    takes_empty = True
    kernel_suffices = MOVES
    reference = "torch.flip"
    shorthand = "axis"
    shape_rule = "unchanged"
    example = Example(((2, 5),), {"axis": 1})
    usage = ("image: [8, 3, 32, 32]", "- flip: 3")

    axis: Axes = attr("axis or axes to reverse")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        normal_axes(self.axis, x.rank, "flip")
        return x


def check_indices(what: str, indices: Sequence[Dim], axis: int, x: TensorType) -> None:
    """Raise RuleError if an index is out of range."""
    size = x.shape[axis]
    for index in indices:
        if index >= size or index < -size:
            raise RuleError(f"{what}: index {index} is out of range along axis {axis} of {x}")


def require_index(what: str, index: TensorType) -> None:
    """Raise RuleError (E402) unless ``index`` has an index type."""
    if index.dtype not in ("int64", "int32"):
        raise RuleError(f"{what} takes an index of int64 or int32, and this one is {index.dtype}", code="E402")
