"""What operations share that only move elements, and join or part them."""

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import Context, Operation, RuleError, Term, normal_axis
from netcalc.tensor_type import TensorType


class Movement(Operation):
    """Base of operations that move data, or make it from nothing, without arithmetic; any element type goes."""

    cost_rule = "no arithmetic"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


def normal_axes(axes: Sequence[int], rank: int, what: str) -> tuple[int, ...]:
    """The axes counted from the front; RuleError where the tensor has no such axis, or one is named twice."""
    found = tuple(normal_axis(axis, rank, what) for axis in axes)
    for axis in found:
        if found.count(axis) > 1:
            raise RuleError(f"{what}: axis {axis} is named twice in {list(axes)}")
    return found


def resized(x: TensorType, sizes: dict[int, Dim]) -> TensorType:
    """``x`` with other sizes at some axes."""
    return x.with_shape(*(sizes.get(axis, size) for axis, size in enumerate(x.shape)))
