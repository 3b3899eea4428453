"""The base of operations that move elements without arithmetic."""

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import Context, Operation, Reach, RuleError, Term, merged_axes, normal_axis
from netcalc.tensor_type import TensorType

#: Reason for running operations that only move elements by their kernels.
MOVES = "moves elements unchanged: one or two NumPy calls"


class Movement(Operation):
    """Base of operations that move or create data without arithmetic, for any element type."""

    takes_complex = True
    cost_rule = "none: data moves"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


class Reshaping(Movement):
    """Base of operations that give the same elements in the same order another shape."""

    takes_empty = True
    view = True

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        return [merged_axes(x, output) for x in inputs]


def normal_axes(axes: Sequence[int], rank: int, what: str) -> tuple[int, ...]:
    """Return the axes counted from the front; RuleError if an axis does not exist or is listed twice."""
    normal = tuple(normal_axis(axis, rank, what) for axis in axes)
    for axis in normal:
        if normal.count(axis) > 1:
            raise RuleError(f"{what}: axis {axis} is listed twice in {list(axes)}")
    return normal


def resized(x: TensorType, sizes: dict[int, Dim]) -> TensorType:
    """Return ``x`` with new sizes for some axes."""
    return x.with_shape(*(sizes.get(axis, size) for axis, size in enumerate(x.shape)))
