"""Gated linear units: one half of an axis times an activation of the other half."""

from collections.abc import Sequence
from typing import Literal

from netcalc.dims import divided
from netcalc.opdef import Context, Example, Operation, Reach, RuleError, Term, attr, axes_of, normal_axis, require_float
from netcalc.ops import operation
from netcalc.ops._elementwise import GELU_BY, SIGMOID, SILU, Work, per, terms
from netcalc.tensor_type import TensorType


class _Gated(Operation):
    """Base of gated units, which split an axis into a gate and a value half."""

    kernel_suffices = "halves combined after an activation: a few NumPy calls"
    shape_rule = "(…, D, …) → (…, D/2, …)"
    example = Example(((2, 8),))
    usage = ("x: [1, 128, 768]", "- linear: 4096", "- $op", "- linear: 768")

    axis: int = attr("axis that is split in half", default=-1)
    gate: Literal["first", "second"] = attr("half that the activation is applied to", default="first")

    def gating(self) -> Work:
        """Return the work of the activation per element."""
        raise NotImplementedError(self.name)

    def channels_at(self, rank: int) -> int | None:
        return self.axis % rank

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        axis = normal_axis(self.axis, x.rank, self.name)
        if divided(x.shape[axis], 2) is None:
            raise RuleError(f"{self.name} splits axis {self.axis} in half, and its size {x.shape[axis]} is odd: {x}")
        half = ctx.size("features", "D//2", D=x.shape[axis])
        return x.with_shape(*x.shape[:axis], half, *x.shape[axis + 1 :])

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, {self.axis: "unknown"})]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (y,) = outputs
        gate = Term.of("mul", "gate", elements=y.elements)
        return (*terms(self.gating(), "activation", elements=y.elements), gate)


@operation
class GLU(_Gated):
    """value·sigmoid(gate); the gate is the second half unless ``gate: first``."""

    name = "glu"
    reference = "torch.nn.GLU; Dauphin et al. 2016, arXiv:1612.08083"
    cost_rule = per("output element", {**SIGMOID, "mul": 1})

    gate: Literal["first", "second"] = attr("half that the sigmoid is applied to", default="second")

    def gating(self) -> Work:
        return SIGMOID


@operation
class ReGLU(_Gated):
    """relu(gate)·value; the gate is the first half unless ``gate: second``."""

    name = "reglu"
    reference = "Shazeer 2020, arXiv:2002.05202"
    cost_rule = per("output element", {"compare": 1, "mul": 1})

    def gating(self) -> Work:
        return {"compare": 1}


@operation
class GEGLU(_Gated):
    """gelu(gate)·value; the gate is the first half unless ``gate: second``."""

    name = "geglu"
    reference = "Shazeer 2020, arXiv:2002.05202"
    cost_rule = "the work of gelu and 1 mul per output element"

    approximate: Literal["none", "tanh"] = attr("formula of gelu: exact, or the tanh approximation", default="none")

    def gating(self) -> Work:
        return GELU_BY[self.approximate]


@operation
class SwiGLU(_Gated):
    """silu(gate)·value; the gate is the first half unless ``gate: second``."""

    name = "swiglu"
    reference = "Shazeer 2020, arXiv:2002.05202"
    cost_rule = per("output element", {**SIGMOID, "mul": 1})

    def gating(self) -> Work:
        return SILU
