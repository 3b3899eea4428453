"""Backward passes of :mod:`netcalc.ops.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, product
from netcalc.opdef import Kind, Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._movement import moved
from netcalc.ops.backward._norms import norm_gradient
from netcalc.ops.reduce import Cumprod, Cumsum, Logsumexp, Prod, Var, VectorNorm

moved("sum", rule="∂L/∂x = g, for each element that is summed")


@backward("mean")
class MeanBackward(Backward):
    """The gradient of a mean, divided among its n elements."""

    rule = ("∂L/∂x = g/n",)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("div", "mean", outputs=call.outputs[0].elements),)


class _Selecting(Backward):
    """The gradient of an extreme, in equal shares among the elements that are equal to it."""

    rule = ("∂L/∂x = g/n at the n elements that are equal to y, else 0",)
    saved = ("self", "result")

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        outputs, each = op.sizes(call.input())
        every = {"outputs": outputs, "elements": each}
        return (
            Term.of("compare", "extreme", **every),
            Term.of("add", "ties", outputs=outputs, others=each - 1),
            Term.of("div", "share of ties", **every),
        )


backward("max", "min")(_Selecting)


@backward("prod")
class ProdBackward(Backward):
    """The product of the other elements, from the products before and after each; zeros need no case of their own."""

    rule = ("∂L/∂x = g·Π of the other elements",)
    saved = ("self", "result")  # as PyTorch

    def cost(self, op: Prod, call: BackwardCall) -> Sequence[Term]:
        outputs, each = op.sizes(call.input())
        return (
            Term.of("mul", "products before and after", outputs=outputs, others=each - 2, directions=2),
            Term.of("mul", "product of others", outputs=outputs, elements=each, each=2),
        )


@backward("var")
class VarBackward(Backward):
    """The deviation of each element from the mean, which is computed again."""

    rule = ("∂L/∂x = g·2/(n − correction)·(x − mean)",)
    saved = ("self",)

    def cost(self, op: Var, call: BackwardCall) -> Sequence[Term]:
        outputs, each = op.sizes(call.input())
        every = {"outputs": outputs, "elements": each}
        return (
            Term.of("add", "mean", outputs=outputs, others=each - 1),
            Term.of("div", "mean", outputs=outputs),
            Term.of("add", "deviation", **every),
            Term.of("mul", "factor", outputs=outputs),
            Term.of("mul", "gradient", **every),
        )


@backward("vector_norm")
class VectorNormBackward(Backward):
    """The derivative of a norm: 0 at a norm of zero, and equal shares for equal extremes, as in PyTorch."""

    rule = ("∂L/∂x = g·sign(x)·|x|^(ord − 1)·y^(1 − ord); 0 for ord 0",)

    def saves(self, op: VectorNorm, call: BackwardCall) -> Sequence[Saved]:
        if op.ord == 0:
            return ()
        return call.saved_input("self"), call.saved_output("result")  # PyTorch keeps the norm for ord 1 too

    def cost(self, op: VectorNorm, call: BackwardCall) -> Sequence[Term]:
        return norm_gradient(op.ord, *op.sizes(call.input()))


@backward("logsumexp")
class LogsumexpBackward(Backward):
    """The softmax of the elements."""

    rule = ("∂L/∂x = g·exp(x − y)",)
    saved = ("self", "result")

    def cost(self, op: Logsumexp, call: BackwardCall) -> Sequence[Term]:
        elements = call.input().elements
        kinds: dict[Kind, str] = {"add": "difference", "transcendental": "exp", "mul": "gradient"}
        return [Term.of(kind, role, elements=elements) for kind, role in kinds.items()]


class _Accumulating(Backward):
    """Base of sums and products of the elements so far."""

    def lines(self, op: Cumsum | Cumprod, call: BackwardCall) -> dict[str, Dim]:
        """Return the number of lines along the axis, and the elements of each but one."""
        x = call.input()
        axis = op.axis % max(x.rank, 1)
        length = x.shape[axis] if x.rank else 1
        return {"lines": product(size for i, size in enumerate(x.shape) if i != axis), "others": length - 1}


@backward("cumsum")
class CumsumBackward(_Accumulating):
    """The sum of the gradients from each element on."""

    rule = ("∂L/∂x = Σ g from the element to the end",)

    def cost(self, op: Cumsum, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("add", "sum of gradient", **self.lines(op, call)),)


@backward("cumprod")
class CumprodBackward(_Accumulating):
    """The product of the elements before, times the sum of the gradients by the products after each element.

    The sum is computed like a polynomial in Horner's scheme, from the last element on; zeros need no case of their own.
    """

    rule = ("r = g + x·r of the next element, from the last on", "∂L/∂x = r·y of the element before")
    saved = ("self", "result")

    def cost(self, op: Cumprod, call: BackwardCall) -> Sequence[Term]:
        lines = self.lines(op, call)
        return (
            Term.of("mul", "by next element", **lines),
            Term.of("add", "sum of gradient", **lines),
            Term.of("mul", "by product before", **lines),
        )
