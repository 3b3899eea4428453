"""Backward passes of :mod:`netcalc.ops.activation`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops._elementwise import Work, terms
from netcalc.ops.activation import GELU, Tanhshrink
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._elementwise import declare

#: Work of the derivative of gelu times a gradient.
GELU_GRADIENT: dict[str, Work] = {
    "none": {"mul": 7, "add": 2, "transcendental": 2},
    "tanh": {"mul": 12, "add": 5, "transcendental": 1},
}
#: Work of the derivative of silu times a gradient.
SILU_GRADIENT: Work = {"add": 4, "transcendental": 1, "div": 1, "mul": 3}


def _gelu(op: GELU) -> str:
    if op.approximate == "none":
        return "g·(Φ(x) + x·φ(x))"
    return "½·g·(1 + t + x·(1 − t²)·√(2/π)·(1 + 3·0.044715·x²)), t = tanh(√(2/π)·(x + 0.044715·x³))"


declare("identity", derivative="g", work={}, saves=None)
declare(
    "elu",
    derivative="g where x > 0, else g·alpha·exp(x)",
    work={"compare": 1, "transcendental": 1, "mul": 2},
    saves="self",
)
declare(
    "selu",
    derivative="g·scale where x > 0, else g·scale·alpha·exp(x)",
    work={"compare": 1, "transcendental": 1, "mul": 2},
    saves="self",
)
declare(
    "celu",
    derivative="g where x > 0, else g·exp(x/alpha)",
    work={"compare": 1, "div": 1, "transcendental": 1, "mul": 1},
    saves="self",
)
declare("gelu", derivative=_gelu, work=lambda op: GELU_GRADIENT[op.approximate], saves="self")
declare(
    "quick_gelu",
    derivative="g·s·(1 + 1.702·x·(1 − s)), s = sigmoid(1.702·x)",
    work={"add": 4, "transcendental": 1, "div": 1, "mul": 4},
    saves="self",
)
declare("silu", derivative="g·s·(1 + x·(1 − s)), s = sigmoid(x)", work=SILU_GRADIENT, saves="self")
declare(
    "mish",
    derivative="g·(t + x·sigmoid(x)·(1 − t²)), t = tanh(ln(1 + exp(x)))",
    work={"add": 4, "transcendental": 4, "div": 1, "mul": 4},
    saves="self",
)
declare(
    "hardswish",
    derivative="0 where x ≤ −3, g where x ≥ 3, else g·(x/3 + ½)",
    work={"compare": 2, "div": 1, "add": 1, "mul": 1},
    saves="self",
)
declare("hardsigmoid", derivative="g/6 where −3 < x < 3, else 0", work={"compare": 2, "div": 1}, saves="self")
declare("hardtanh", derivative="0 where x ≤ min or x ≥ max, else g", work={"compare": 2}, saves="self")
declare("sigmoid", derivative="g·y·(1 − y)", work={"add": 1, "mul": 2}, saves="result")
# PyTorch also has a buffer for exp(−|x|), which is empty on accelerators
declare("logsigmoid", derivative="g/(1 + exp(x))", work={"transcendental": 1, "add": 1, "div": 1}, saves="self")
declare("tanh", derivative="g·(1 − y²)", work={"mul": 2, "add": 1}, saves="result")
declare("hardshrink", "softshrink", derivative="0 where |x| ≤ lambd, else g", work={"compare": 2}, saves="self")
declare("threshold", derivative="0 where x ≤ threshold, else g", work={"compare": 1}, saves="self")
declare(
    "softplus",
    derivative="g where beta·x > threshold, else g·z/(1 + z), z = exp(beta·x)",
    work={"mul": 2, "transcendental": 1, "compare": 1, "add": 1, "div": 1},
    saves="self",
)
declare("softsign", derivative="g/(1 + |x|)²", work={"compare": 1, "add": 1, "mul": 1, "div": 1}, saves="self")


@backward("tanhshrink")
class TanhshrinkBackward(Backward):
    """1 minus the derivative of tanh, from the tanh of the forward pass."""

    rule = ("∂L/∂x = g·tanh(x)²",)

    def saves(self, op: Tanhshrink, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_kept("result", *call.input().shape),)

    def cost(self, op: Tanhshrink, call: BackwardCall) -> Sequence[Term]:
        return terms({"mul": 2}, "gradient", elements=call.input().elements)
