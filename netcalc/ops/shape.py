"""Reshaping; :mod:`netcalc.ops.axes` has the operations on whole axes."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, divided, equal, product
from netcalc.opdef import Context, Example, RuleError, attr, normal_axis
from netcalc.ops import operation
from netcalc.ops._lists import Shape
from netcalc.ops._movement import Reshaping
from netcalc.tensor_type import TensorType


@operation
class Reshape(Reshaping):
    """The same elements, in row-major order, in another shape.

    One size may be -1, and is computed from the others.  Where symbolic sizes leave open if the division is exact, that
    is assumed if it is at the default sizes.
    """

    name = "reshape"
    reference = "torch.reshape"
    shorthand = "shape"
    shape_rule = "→ shape, with the same number of elements"
    example = Example(((2, 3, 4),), {"shape": [2, -1]})
    usage = ("x: [1, 196, 768]", "- reshape: [1, 14, 14, -1]")

    shape: Shape = attr("new sizes, one of which may be -1")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x.with_shape(*filled(ctx, "reshape", self.shape, x.elements, str(x)))


@operation
class Flatten(Reshaping):
    """Joins neighboring axes into one; by default all but the first, the batch.

    The defaults are as in torch.nn.Flatten (torch.flatten joins all axes by default).
    """

    name = "flatten"
    reference = "torch.nn.Flatten"
    shorthand = "start_axis"
    shape_rule = "(N, A, B, …) → (N, A·B·…)"
    example = Example(((2, 3, 4, 5),))
    usage = ("x: [8, 512, 7, 7]", "- flatten")

    start_axis: int = attr("first axis to join", default=1)
    end_axis: int = attr("last axis to join", default=-1)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        first, last = (normal_axis(axis, x.rank, "flatten") for axis in (self.start_axis, self.end_axis))
        if first > last:
            raise RuleError(
                f"flatten: the start axis {self.start_axis} comes after the end axis {self.end_axis} of {x}"
            )
        joined = {f"d{axis}": x.shape[axis] for axis in range(first, last + 1)}
        size = ctx.size("flattened", "*".join(joined), **joined)
        return x.with_shape(*x.shape[:first], size, *x.shape[last + 1 :])


@operation
class Unflatten(Reshaping):
    """Splits an axis into several; one of their sizes may be -1, and is computed from the others."""

    name = "unflatten"
    reference = "torch.nn.Unflatten"
    shape_rule = "(…, A·B, …) → (…, A, B, …)"
    example = Example(((2, 12),), {"axis": 1, "sizes": [3, -1]})
    usage = ("x: [1, 128, 768]", "- unflatten: {axis: -1, sizes: [12, 64]}", "- transpose: [1, 2]")

    axis: int = attr("axis to split")
    sizes: Shape = attr("sizes of the new axes, one of which may be -1", min_length=1)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axis = normal_axis(self.axis, x.rank, "unflatten")
        sizes = filled(ctx, "unflatten", self.sizes, x.shape[axis], f"axis {axis} of {x}")
        return x.with_shape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])


def filled(ctx: Context, what: str, sizes: Sequence[Any], total: Dim, origin: str) -> tuple[Dim, ...]:
    """Return ``sizes`` with -1 replaced so that their product is ``total``; RuleError if that is impossible."""
    others = product(size for size in sizes if size != -1)
    shown = "×".join("?" if size == -1 else str(size) for size in sizes) or "a scalar"
    if -1 not in sizes:
        if not equal(others, total):
            raise RuleError(f"{what} cannot make {shown}, of {others} elements, from {origin}, of {total}")
        return tuple(sizes)
    if divided(total, others) is None:
        raise RuleError(f"{what} cannot make {shown} from {origin}: {total} elements are not divisible by {others}")
    axis = list(sizes).index(-1)
    rest: Dim = ctx.size(f"size {axis}", "elements//others", elements=total, others=others)
    return (*sizes[:axis], rest, *sizes[axis + 1 :])
