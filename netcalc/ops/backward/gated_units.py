"""Backward passes of :mod:`netcalc.ops.gated_units`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops._elementwise import Work, terms
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward.activation import GELU_GRADIENT, SILU_GRADIENT


@backward("glu")
class GLUBackward(Backward):
    """The product with both halves; the sigmoid of the gate is computed again, as in PyTorch."""

    rule = ("∂L/∂value = g·s", "∂L/∂gate = g·value·s·(1 − s), s = sigmoid(gate)")
    saved = ("self",)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        work: Work = {"add": 3, "transcendental": 1, "div": 1, "mul": 3}
        return terms(work, "gradient", elements=call.outputs[0].elements)


class _Gated(Backward):
    """An activation of the gate, which the forward pass keeps, times the value."""

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("self"), call.saved_kept("result", *call.outputs[0].shape))

    def gating(self, op: Any) -> Work:
        """Return the work of the activation's derivative times a gradient, per element."""
        raise NotImplementedError(op.name)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        elements = call.outputs[0].elements
        return (
            Term.of("mul", "gradient of halves", halves=2, elements=elements),
            *terms(self.gating(op), "activation", elements=elements),
        )


@backward("reglu")
class ReGLUBackward(_Gated):
    """The rectifier of the gate."""

    rule = ("∂L/∂value = g·relu(gate)", "∂L/∂gate = g·value where gate > 0, else 0")

    def gating(self, op: Any) -> Work:
        return {"compare": 1}


@backward("geglu")
class GEGLUBackward(_Gated):
    """The Gaussian unit of the gate."""

    rule = ("∂L/∂value = g·gelu(gate)", "∂L/∂gate = g·value·gelu′(gate)")

    def gating(self, op: Any) -> Work:
        return GELU_GRADIENT[op.approximate]


@backward("swiglu")
class SwiGLUBackward(_Gated):
    """The sigmoid unit of the gate."""

    rule = ("∂L/∂value = g·silu(gate)", "∂L/∂gate = g·value·s·(1 + gate·(1 − s)), s = sigmoid(gate)")

    def gating(self, op: Any) -> Work:
        return SILU_GRADIENT
