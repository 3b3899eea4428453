"""What activations share: work by the element, and operations that do nothing else."""

from collections.abc import Sequence
from typing import Any, ClassVar

from netcalc.opdef import Context, Example, Kind, Operation, Term, require_float
from netcalc.tensor_type import TensorType

#: Work for one element: how many of each kind.
Work = dict[Kind, int]

# what operations of several families do
SIGMOID: Work = {"add": 2, "transcendental": 1, "div": 1}  # 1/(1 + exp(−x))
SILU: Work = {"add": 2, "transcendental": 1, "div": 1}  # x/(1 + exp(−x))
GELU_BY: dict[str, Work] = {
    "none": {"mul": 3, "add": 1, "transcendental": 1},  # ½·x·(1 + erf(x·√½))
    "tanh": {"mul": 6, "add": 2, "transcendental": 1},  # ½·x·(1 + tanh(√(2/π)·x·(1 + 0.044715·x²)))
}


def terms(work: Work, role: str, **elements: Any) -> tuple[Term, ...]:
    """``work`` on each of the elements."""
    return tuple(
        Term.of(kind, role, **elements, **({"each": times} if times > 1 else {})) for kind, times in work.items()
    )


class Elementwise(Operation):
    """A function of each element; ``work`` is what each takes."""

    elementwise = True
    shape_rule = "unchanged"
    example = Example(((2, 8),))
    work: ClassVar[Work]

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        return x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return terms(self.work, self.name, elements=inputs[0].elements)
