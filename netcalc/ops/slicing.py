"""Parts of a tensor by place: ranges, single places, places from a list or another tensor; and shifts and turns."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from netcalc.dims import Dim, maximum, minimum
from netcalc.opdef import Context, Example, RuleError, attr, normal_axis, ports, whole_number
from netcalc.ops import operation
from netcalc.ops._lists import Axes, Sizes, Whole, Wholes, listed
from netcalc.ops._movement import Movement, normal_axes, resized
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

    As in Python ``stop`` is not part of it, negative places count from behind, and places past an end stand for the
    end.  To go backwards there is flip.  With a list of axes ``start``, ``stop`` and ``step`` are lists too, or one
    value for all of them.
    """

    name = "slice"
    view = True
    reference = "basic slicing of torch.Tensor"
    shape_rule = "(…, d, …) → (…, ⌈(stop − start)/step⌉, …)"
    example = Example(((2, 10),), {"axis": 1, "start": 1, "step": 2})

    axis: Axes = attr("the axis, or axes")
    start: Wholes = attr("the first place", default=0)
    stop: _Ends = attr("the place after the last; null: the end", default=None)
    step: Sizes = attr("from one place to the next", default=1)

    def ranges(self) -> list[tuple[int, Any, Any, Any]]:
        """(axis, start, stop, step) for each axis; RuleError where the lists do not match."""
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
            first, end = _place(start, size), size if stop is None else _place(stop, size)
            if end <= first:
                raise RuleError(f"slice: nothing of axis {axis} of {x} lies from {start} to {stop}")
            formula = "stop - start" if step == 1 else "ceil_div(stop - start, step)"
            sizes[axis] = ctx.size(f"axis {axis}", formula, start=first, stop=end, step=step)
        return resized(x, sizes)


def _place(place: Dim, size: Dim) -> Dim:
    """A place counted from the front, within the axis."""
    return maximum(size + place, 0) if place < 0 else minimum(place, size)


@operation
class Select(Movement):
    """One place along an axis, which goes; a negative place counts from behind."""

    name = "select"
    view = True
    reference = "torch.select"
    shape_rule = "(…, d, …) → (…, …)"
    example = Example(((2, 5, 4),), {"axis": 1, "index": 0})

    axis: int = attr("the axis")
    index: Whole = attr("the place")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axis = normal_axis(self.axis, x.rank, "select")
        check_places("select", (self.index,), axis, x)
        return x.with_shape(*x.shape[:axis], *x.shape[axis + 1 :])


@operation
class Gather(Movement):
    """At each place of ``index`` the element of the input whose place along the axis it holds.

    With axis 1 the result at (i, j, k) is input[i, index[i, j, k], k].  The index has the axes of the input, none of
    the others longer than there, and gives the result its shape.
    """

    name = "gather"
    reference = "torch.gather"
    inputs = ports("input", "index")
    shape_rule = "(…), index (…) → as the index"
    example = Example(((2, 5), TensorType((2, 3), "int64")), {"axis": 1})

    axis: int = attr("the axis that the index points along")

    def infer(self, ctx: Context, x: TensorType, index: TensorType) -> TensorType:
        require_index("gather", index)
        if index.rank != x.rank:
            raise RuleError(f"gather takes an index of as many dimensions as its input: {index} against {x}")
        axis = normal_axis(self.axis, x.rank, "gather")
        for other, (size, wanted) in enumerate(zip(x.shape, index.shape, strict=True)):
            if other != axis and wanted > size:
                raise RuleError(f"gather along axis {axis}: the index {index} is longer than {x} in axis {other}")
        return x.with_shape(*index.shape)


@operation
class IndexSelect(Movement):
    """The places along an axis that a list names, in its order, as often as it names them.

    The list is ``indices``, in which a negative place counts from behind, or the vector ``index``.
    """

    name = "index_select"
    reference = "torch.index_select"
    inputs = ports("input", "index?")
    shape_rule = "(…, d, …), index (k) → (…, k, …)"
    example = Example(((2, 5),), {"axis": 1, "indices": [0, 2, -1]})

    axis: int = attr("the axis")
    indices: Wholes | None = attr("the places; null: they are the input index", default=None)

    def infer(self, ctx: Context, x: TensorType, index: TensorType | None = None) -> TensorType:
        axis = normal_axis(self.axis, x.rank, "index_select")
        if (index is None) == (self.indices is None):
            found = "neither" if index is None else "both"
            raise RuleError(f"index_select takes either indices or the input index, and has {found}", code="E303")
        if index is None:
            places = self.indices or ()
            check_places("index_select", places, axis, x)
            if not places:
                raise RuleError("index_select names no place")
            return resized(x, {axis: len(places)})
        require_index("index_select", index)
        if index.rank > 1:
            raise RuleError(f"index_select takes a vector of places, and this index is {index}")
        return resized(x, {axis: index.elements})


@operation
class Roll(Movement):
    """Shifts the elements along axes; what leaves at one end comes in at the other."""

    name = "roll"
    reference = "torch.roll"
    shape_rule = "unchanged"
    example = Example(((2, 5),), {"shifts": 1, "axis": 1})

    shifts: Wholes = attr("by how many places, towards the end; one for each axis")
    axis: Axes | None = attr("the axis, or axes; null: the flattened tensor", default=None)

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
    """Turns axes round: the last element comes first."""

    name = "flip"
    reference = "torch.flip"
    shorthand = "axis"
    shape_rule = "unchanged"
    example = Example(((2, 5),), {"axis": 1})

    axis: Axes = attr("the axis, or axes")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        normal_axes(self.axis, x.rank, "flip")
        return x


def check_places(what: str, places: Sequence[Dim], axis: int, x: TensorType) -> None:
    """RuleError where one of the places does not exist."""
    size = x.shape[axis]
    for place in places:
        if place >= size or place < -size:
            raise RuleError(f"{what}: there is no place {place} along axis {axis} of {x}")


def require_index(what: str, index: TensorType) -> None:
    """RuleError (E402) unless ``index`` holds places."""
    if index.dtype not in ("int64", "int32"):
        raise RuleError(f"{what} takes an index of int64 or int32, and this one is {index.dtype}", code="E402")
