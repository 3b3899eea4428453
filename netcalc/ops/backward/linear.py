"""Backward passes of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.linear import Bilinear, Linear


@backward("linear")
class LinearBackward(Backward):
    """Matrix products of the gradient with the weight and with the input."""

    rule = ("∂L/∂x = g·W", "∂L/∂W = gᵀ·x, over all rows", "∂L/∂b = Σ g, over all rows")

    def saves(self, op: Linear, call: BackwardCall) -> Sequence[Saved]:
        saved: list[Saved] = []
        if call.wants("weight", 1):
            saved.append(call.saved_input("input"))
        if call.wants(0):
            saved.append(call.saved_input("weight", 1) if call.present(1) else call.saved_parameter("weight", "weight"))
        return saved

    def cost(self, op: Linear, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        rows = product(x.shape[:-1])
        sizes = {"rows": rows, "out_features": op.out}
        work: list[Term] = []
        if call.wants(0):
            work.append(Term.of("mac", "gradient of input", **sizes, in_features=x.shape[-1]))
        if call.wants("weight", 1):
            work.append(Term.of("mac", "gradient of weight", **sizes, in_features=x.shape[-1]))
        if call.wants("bias", 2):
            work.append(Term.of("add", "gradient of bias", rows_less_one=rows - 1, out_features=op.out))
        return work


@backward("bilinear")
class BilinearBackward(Backward):
    """Matrix products with the gradient times A, which the gradients of both inputs share."""

    rule = (
        "∂L/∂x₁ = Σ g·A·x₂, over the output features",
        "∂L/∂x₂ = Σ g·x₁·A, over the output features",
        "∂L/∂A = Σ g·x₁·x₂ᵀ, over all rows",
        "∂L/∂b = Σ g, over all rows",
    )

    def saves(self, op: Bilinear, call: BackwardCall) -> Sequence[Saved]:
        saved: list[Saved] = []
        if call.wants(1, "weight"):
            saved.append(call.saved_input("input1"))
        if call.wants(0, "weight"):
            saved.append(call.saved_input("input2", 1))
        if call.wants(0, 1):
            saved.append(call.saved_parameter("weight", "weight"))
        return saved

    def cost(self, op: Bilinear, call: BackwardCall) -> Sequence[Term]:
        x1, x2 = call.input(0), call.input(1)
        rows = product(x1.shape[:-1])
        pairs = {"rows": rows, "in1_features": x1.shape[-1], "in2_features": x2.shape[-1]}
        work: list[Term] = []
        if call.wants(0, 1):
            work.append(Term.of("mac", "gradient times A", **pairs, out_features=op.out))
        work += [Term.of("mac", f"gradient of input {number + 1}", **pairs) for number in (0, 1) if call.wants(number)]
        if call.wants("weight"):
            work.append(Term.of("mul", "outer product of inputs", **pairs))
            work.append(Term.of("mac", "gradient of weight", **pairs, out_features=op.out))
        if call.wants("bias"):
            work.append(Term.of("add", "gradient of bias", rows_less_one=rows - 1, out_features=op.out))
        return work
