"""The same elements several times."""

from netcalc.dims import Dim
from netcalc.opdef import Context, Example, RuleError, attr, normal_axis
from netcalc.ops import operation
from netcalc.ops._lists import Counts, Extents, Sizes
from netcalc.ops._movement import Movement, resized
from netcalc.tensor_type import TensorType


@operation
class Expand(Movement):
    """Repeats axes of size 1 to a greater size, and adds axes in front; -1 keeps an axis as it is.

    A class token of shape 1×1×768 meets a batch by ``expand: ["${image.batch}", -1, -1]``.
    """

    name = "expand"
    view = True
    reference = "torch.Tensor.expand"
    shorthand = "shape"
    shape_rule = "→ shape, aligned from the last axis"
    example = Example(((1, 1, 4),), {"shape": [2, -1, -1]})

    shape: Extents = attr("the new sizes; -1 keeps that of the input")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        added = len(self.shape) - x.rank
        if added < 0:
            raise RuleError(f"expand to {len(self.shape)} dimensions, and the input has more: {x}")
        sizes = []
        for axis, wanted in enumerate(self.shape):
            size: Dim | None = x.shape[axis - added] if axis >= added else None
            if wanted == -1 and size is None:
                raise RuleError(f"expand: axis {axis} is new, so that -1 keeps nothing there: {x}")
            if wanted != -1 and size is not None and size not in (1, wanted):
                raise RuleError(
                    f"expand repeats axes of size 1, and axis {axis - added} of {x} is {size}, not {wanted}",
                    hint="to repeat an axis of any size there is tile",
                )
            sizes.append(wanted if size is None or wanted != -1 else size)
        return x.with_shape(*sizes)


@operation
class Tile(Movement):
    """The whole tensor side by side with itself, ``repeats`` times along each axis.

    Repeats are aligned from the last axis: missing ones are 1, and more of them than axes add axes in front.
    """

    name = "tile"
    reference = "torch.tile"
    shorthand = "repeats"
    shape_rule = "(d…) → (repeats·d…)"
    example = Example(((2, 3),), {"repeats": [2, 1]})

    repeats: Sizes = attr("how often, for each axis")

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
    """Each element along an axis several times in a row: a b becomes a a b b.

    A list of ``repeats`` gives each place along the axis its own number, which may be 0.
    """

    name = "repeat_interleave"
    reference = "torch.repeat_interleave"
    shorthand = "repeats"
    shape_rule = "(…, d, …) → (…, repeats·d, …); (repeats·elements) without axis"
    example = Example(((1, 2, 5),), {"repeats": 3, "axis": 1})

    repeats: Counts = attr("how often, for all places or for each", min_length=1)
    axis: int | None = attr("the axis; null: the flattened tensor", default=None)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if self.axis is None:
            x = x.with_shape(ctx.size("elements", "prod(shape)", shape=list(x.shape)))
        axis = normal_axis(0 if self.axis is None else self.axis, x.rank, "repeat_interleave")
        size = x.shape[axis]
        if len(self.repeats) not in (1, size):
            raise RuleError(f"repeat_interleave: {len(self.repeats)} numbers of repeats for axis {axis} of {x}")
        if len(self.repeats) == 1:
            repeated = ctx.size(f"axis {axis}", "repeats*size", repeats=self.repeats[0], size=size)
        else:
            repeated = ctx.size(f"axis {axis}", "sum(repeats)", repeats=list(self.repeats))
        if repeated < 1:
            raise RuleError(f"repeat_interleave repeats every place of axis {axis} 0 times, and leaves nothing")
        return resized(x, {axis: repeated})
