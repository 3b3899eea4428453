"""Gated units: one half of an axis is gated by an activation of the other half."""

from collections.abc import Sequence
from typing import Literal

from netcalc.dims import exact_div
from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr, normal_axis, require_float
from netcalc.ops import operation
from netcalc.ops._activation import GELU_BY, SIGMOID, SILU, Work, terms
from netcalc.tensor_type import TensorType


class _Gated(Operation):
    """An axis in two halves: an activation of the gate half times the value half."""

    shape_rule = "(…, D, …) → (…, D/2, …)"
    example = Example(((2, 8),))

    axis: int = attr("axis that is halved", default=-1)
    gate: Literal["first", "second"] = attr("the half that goes through the activation", default="first")

    def gating(self) -> Work:
        """The activation's work for one element."""
        raise NotImplementedError(self.name)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        axis = normal_axis(self.axis, x.rank, self.name)
        if exact_div(x.shape[axis], 2) is None:
            raise RuleError(f"{self.name} halves axis {self.axis}, and its size {x.shape[axis]} is odd: {x}")
        half = ctx.size("features", "D//2", D=x.shape[axis])
        return x.with_shape(*x.shape[:axis], half, *x.shape[axis + 1 :])

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (y,) = outputs
        gate = Term.of("mul", "gate", elements=y.elements)
        return (*terms(self.gating(), "activation", elements=y.elements), gate)


@operation
class GLU(_Gated):
    """value·sigmoid(gate); the gate is the second half unless ``gate: first``."""

    name = "glu"
    reference = "torch.nn.GLU; Dauphin et al. 2016, arXiv:1612.08083"
    cost_rule = "an output element: 1 exponential, 2 adds, 1 div and 1 mul"

    gate: Literal["first", "second"] = attr("the half that goes through the sigmoid", default="second")

    def gating(self) -> Work:
        return SIGMOID


@operation
class ReGLU(_Gated):
    """relu(gate)·value; the gate is the first half unless ``gate: second``."""

    name = "reglu"
    reference = "Shazeer 2020, arXiv:2002.05202"
    cost_rule = "an output element: 1 comparison and 1 mul"

    def gating(self) -> Work:
        return {"compare": 1}


@operation
class GEGLU(_Gated):
    """gelu(gate)·value; the gate is the first half unless ``gate: second``."""

    name = "geglu"
    reference = "Shazeer 2020, arXiv:2002.05202"
    cost_rule = "an output element: the work of gelu, and 1 mul"

    approximate: Literal["none", "tanh"] = attr("gelu's formula: exact, or by tanh", default="none")

    def gating(self) -> Work:
        return GELU_BY[self.approximate]


@operation
class SwiGLU(_Gated):
    """silu(gate)·value; the gate is the first half unless ``gate: second``."""

    name = "swiglu"
    reference = "Shazeer 2020, arXiv:2002.05202"
    cost_rule = "an output element: 1 exponential, 2 adds, 1 div and 1 mul"

    def gating(self) -> Work:
        return SILU
