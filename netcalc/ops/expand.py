"""Repeating elements."""

from collections.abc import Sequence

from netcalc.dims import Dim, equal
from netcalc.opdef import Context, Example, Reach, RuleError, aligned, attr, normal_axis
from netcalc.ops import operation
from netcalc.ops._broadcast import expands
from netcalc.ops._lists import Counts, Extents, Sizes
from netcalc.ops._movement import MOVES, Movement, resized
from netcalc.tensor_type import TensorType


@operation
class Expand(Movement):
    """Repeats axes of size 1 to a larger size, and adds axes in front; -1 keeps the size of an axis.

    For example, ``expand: ["${image.batch}", -1, -1]`` repeats a class token of shape 1×1×768 for every sample.
    """

    name = "expand"
    takes_empty = True
    view = True
    reference = "torch.Tensor.expand"
    shorthand = "shape"
    shape_rule = "→ shape, aligned from the last axis"
    example = Example(((1, 1, 4),), {"shape": [2, -1, -1]})
    usage = (
        "x: [8, 196, 768]",
        "- {name: class_token, parameter: [1, 1, 768]}",
        "- expand: [8, -1, -1]",
        "- {from: [_, x], concat: {axis: 1}}",
    )

    shape: Extents = attr("new sizes; -1 keeps the size of the input")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        added = len(self.shape) - x.rank
        if added < 0:
            raise RuleError(f"expand to {len(self.shape)} dimensions, and the input has more: {x}")
        sizes = []
        for axis, target in enumerate(self.shape):
            size: Dim | None = x.shape[axis - added] if axis >= added else None
            if target == -1 and size is None:
                raise RuleError(f"expand: axis {axis} is new and needs a size other than -1: {x}")
            if target != -1 and size is not None and not expands((size,), (target,)):
                raise RuleError(
                    f"expand repeats axes of size 1, and axis {axis - added} of {x} is {size}, not {target}",
                    hint="tile repeats an axis of any size",
                )
            sizes.append(target if size is None or target != -1 else size)
        return x.with_shape(*sizes)

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [aligned(x, output) for x in inputs]


@operation
class Tile(Movement):
    """Repeats the whole tensor, ``repeats`` times along each axis.

    ``repeats`` is aligned with the axes from the last one: missing numbers are 1, and extra numbers add axes in front.
    """

    name = "tile"
    takes_empty = True
    kernel_suffices = MOVES
    reference = "torch.tile"
    shorthand = "repeats"
    shape_rule = "(d…) → (repeats·d…)"
    example = Example(((2, 3),), {"repeats": [2, 1]})
    usage = ("x: [1, 64]", "- tile: [8, 1]")

    repeats: Sizes = attr("number of repetitions for each axis")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        rank = max(x.rank, len(self.repeats))
        sizes = (1,) * (rank - x.rank) + x.shape
        repeats = (1,) * (rank - len(self.repeats)) + self.repeats
        return x.with_shape(
            *(
                size if times == 1 else ctx.size(f"axis {axis}", "times*size", times=times, size=size)
                for axis, (size, times) in enumerate(zip(sizes, repeats, strict=True))
            )
        )


@operation
class RepeatInterleave(Movement):
    """Repeats each element along an axis: a b becomes a a b b.

    A list of ``repeats`` has a number for each index along the axis, which may be 0.
    """

    name = "repeat_interleave"
    takes_empty = True
    kernel_suffices = MOVES
    reference = "torch.repeat_interleave"
    shorthand = "repeats"
    shape_rule = "(…, d, …) → (…, repeats·d, …); (repeats·elements) without axis"
    example = Example(((1, 2, 5),), {"repeats": 3, "axis": 1})
    usage = ("key: [1, 8, 128, 128]", "- repeat_interleave: {repeats: 4, axis: 1}")

    repeats: Counts = attr("number of repetitions, for all indices or for each", min_length=1)
    axis: int | None = attr("axis; null flattens the tensor first", default=None)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if self.axis is None:
            x = x.with_shape(ctx.size("elements", "prod(shape)", shape=list(x.shape)))
        axis = normal_axis(0 if self.axis is None else self.axis, x.rank, "repeat_interleave")
        size = x.shape[axis]
        if len(self.repeats) != 1 and not equal(len(self.repeats), size):
            raise RuleError(f"repeat_interleave: {len(self.repeats)} numbers of repetitions for axis {axis} of {x}")
        if len(self.repeats) == 1:
            repeated = ctx.size(f"axis {axis}", "repeats*size", repeats=self.repeats[0], size=size)
        else:
            repeated = ctx.size(f"axis {axis}", "sum(repeats)", repeats=list(self.repeats))
        if (self.repeats[0] if len(self.repeats) == 1 else repeated) < 1:
            raise RuleError(f"repeat_interleave repeats every index of axis {axis} 0 times, and the result is empty")
        return resized(x, {axis: repeated})
