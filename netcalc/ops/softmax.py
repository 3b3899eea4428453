"""Softmax and log-softmax along an axis."""

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import (
    Context,
    Example,
    Operation,
    Reach,
    Term,
    attr,
    axes_of,
    normal_axis,
    require_float,
    require_some,
)
from netcalc.ops import operation
from netcalc.tensor_type import TensorType


class _Softmax(Operation):
    """Base of softmax and its logarithm."""

    takes_empty = True
    kernel_suffices = "stands at the end of a network: elsewhere it is a part of attention"
    shorthand = "axis"
    shape_rule = "unchanged"
    example = Example(((2, 8),))
    usage = ("x: [32, 784]", "- linear: 10", "- $op")

    axis: int = attr("axis along which the exponentials add up to 1", default=-1)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        axis = normal_axis(self.axis, x.rank, self.name)
        require_some(x.shape[axis], f"{self.name} along axis {self.axis} of {x}")
        return x

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, {self.axis: "all"})]

    def vectors(self, x: TensorType) -> tuple[Dim, Dim]:
        """Return the number of vectors, and their length."""
        length = x.shape[self.axis]
        return x.elements // length, length


def log_softmax_terms(vectors: Dim, length: Dim) -> tuple[Term, ...]:
    """Return the work of x − max − ln Σ exp(x − max)."""
    every = {"vectors": vectors, "length": length}
    return (
        Term.of("compare", "softmax max", vectors=vectors, comparisons=length - 1),
        Term.of("add", "softmax shift", **every),
        Term.of("transcendental", "softmax exp", **every),
        Term.of("add", "softmax sum", vectors=vectors, sums=length - 1),
        Term.of("transcendental", "softmax log", vectors=vectors),
        Term.of("add", "softmax normalize", **every),
    )


@operation
class Softmax(_Softmax):
    """exp(x − max)/Σ exp(x − max) along an axis.

    A vector of −∞ only (all positions masked) gives NaN, as in PyTorch.
    """

    name = "softmax"
    reference = "torch.nn.Softmax"
    cost_rule = "per element: 1 exponential, 2 adds, 1 div, 1 comparison; minus 1 add and 1 comparison per vector"

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        vectors, length = self.vectors(inputs[0])
        every = {"vectors": vectors, "length": length}
        return (
            Term.of("compare", "softmax max", vectors=vectors, comparisons=length - 1),
            Term.of("add", "softmax shift", **every),
            Term.of("transcendental", "softmax exp", **every),
            Term.of("add", "softmax sum", vectors=vectors, sums=length - 1),
            Term.of("div", "softmax normalize", **every),
        )


@operation
class LogSoftmax(_Softmax):
    """x − max − ln Σ exp(x − max) along an axis, the logarithm of the softmax."""

    name = "log_softmax"
    reference = "torch.nn.LogSoftmax"
    cost_rule = (
        "per element: 1 exponential, 3 adds, 1 comparison; per vector: 1 logarithm, minus 1 add and 1 comparison"
    )

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return log_softmax_terms(*self.vectors(inputs[0]))
