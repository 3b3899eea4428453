"""Backward passes of :mod:`netcalc.ops.softmax`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.softmax import LogSoftmax, Softmax


@backward("softmax")
class SoftmaxBackward(Backward):
    """The gradient less its mean under the softmax, weighted by the softmax."""

    rule = ("∂L/∂x = y·(g − Σ g·y), over the axis",)
    saved = ("result",)

    def cost(self, op: Softmax, call: BackwardCall) -> Sequence[Term]:
        vectors, length = op.vectors(call.input())
        every = {"vectors": vectors, "length": length}
        return (
            Term.of("mul", "weighted gradient", **every),
            Term.of("add", "mean gradient", vectors=vectors, sums=length - 1),
            Term.of("add", "gradient less mean", **every),
            Term.of("mul", "gradient", **every),
        )


@backward("log_softmax")
class LogSoftmaxBackward(Backward):
    """The gradient less the softmax times the sum of the gradient."""

    rule = ("∂L/∂x = g − exp(y)·Σ g, over the axis",)
    saved = ("result",)

    def cost(self, op: LogSoftmax, call: BackwardCall) -> Sequence[Term]:
        vectors, length = op.vectors(call.input())
        every = {"vectors": vectors, "length": length}
        return (
            Term.of("add", "sum of gradient", vectors=vectors, sums=length - 1),
            Term.of("transcendental", "softmax", **every),
            Term.of("mul", "softmax of sum", **every),
            Term.of("add", "gradient", **every),
        )
