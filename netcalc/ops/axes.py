"""Adding, removing and reordering axes."""

from collections.abc import Sequence
from typing import Any

from netcalc.models import field_validator
from netcalc.opdef import Context, Example, Reach, RuleError, Window, attr, normal_axis
from netcalc.ops import operation
from netcalc.ops._lists import Axes
from netcalc.ops._movement import Movement, Reshaping, normal_axes
from netcalc.tensor_type import TensorType


@operation
class Squeeze(Reshaping):
    """Removes axes of size 1: all of them, or those in ``axis``.

    As in PyTorch an axis in ``axis`` that has another size is kept.  A symbolic size counts as 1 if its default is 1,
    and the program records that as an assumption.
    """

    name = "squeeze"
    reference = "torch.squeeze"
    shorthand = "axis"
    shape_rule = "(…, 1, …) → (…, …)"
    example = Example(((2, 1, 3, 1),), {"axis": -1})
    usage = ("x: [1, 512, 1, 1]", "- squeeze: [2, 3]")

    axis: Axes | None = attr("axis or axes to remove; by default all of size 1", default=None)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        named = range(x.rank) if self.axis is None else normal_axes(self.axis, x.rank, "squeeze")
        return x.with_shape(*(size for axis, size in enumerate(x.shape) if axis not in named or size > 1))


@operation
class Unsqueeze(Reshaping):
    """Adds an axis of size 1; a negative ``axis`` counts from the end of the result."""

    name = "unsqueeze"
    reference = "torch.unsqueeze"
    shorthand = "axis"
    shape_rule = "(…, …) → (…, 1, …)"
    example = Example(((2, 3),), {"axis": 1})
    usage = ("image: [3, 224, 224]", "- unsqueeze: 0")

    axis: int = attr("position of the new axis in the result")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axis = normal_axis(self.axis, x.rank + 1, "unsqueeze")
        return x.with_shape(*x.shape[:axis], 1, *x.shape[axis:])


@operation
class Permute(Movement):
    """The axes in another order: axis i of the result is axis ``axes[i]`` of the input."""

    name = "permute"
    takes_empty = True
    view = True
    reference = "torch.permute"
    shorthand = "axes"
    shape_rule = "(d0, d1, …) → (d[axes[0]], d[axes[1]], …)"
    example = Example(((1, 3, 4, 5),), {"axes": [0, 2, 3, 1]})
    usage = (
        "image: [1, 224, 224, 3]",
        "- permute: [0, 3, 1, 2]",
        "- conv2d: {out: 64, kernel: 7, stride: 2, padding: 3}",
    )

    axes: Axes = attr("the axes of the input, each once")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axes = normal_axes(self.axes, x.rank, "permute")
        if len(axes) != x.rank:
            raise RuleError(f"permute lists {len(axes)} of the {x.rank} axes of {x}, and must list each of them once")
        return x.with_shape(*(x.shape[axis] for axis in axes))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        axes = normal_axes(self.axes, output.rank, "permute")
        return [tuple(Window(axes.index(axis)) for axis in range(output.rank))]


@operation
class Transpose(Movement):
    """Two axes swapped."""

    name = "transpose"
    takes_empty = True
    view = True
    reference = "torch.transpose"
    shorthand = "axes"
    shape_rule = "(…, a, …, b, …) → (…, b, …, a, …)"
    example = Example(((2, 3, 4),), {"axes": [1, 2]})
    usage = ("x: [1, 128, 12, 64]", "- transpose: [1, 2]")

    axes: Axes = attr("the two axes to swap")

    @field_validator("axes")
    @classmethod
    def _two(cls, value: Any) -> Any:
        if len(value) != 2:
            raise ValueError("should be two axes")
        return value

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        a, b = (normal_axis(axis, x.rank, "transpose") for axis in self.axes)
        shape = list(x.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return x.with_shape(*shape)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        a, b = (normal_axis(axis, output.rank, "transpose") for axis in self.axes)
        return [tuple(Window({a: b, b: a}.get(axis, axis)) for axis in range(output.rank))]
