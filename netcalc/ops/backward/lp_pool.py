"""Backward passes of :mod:`netcalc.ops.lp_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.lp_pool import LPPooling


@backward("lp_pool1d", "lp_pool2d", "lp_pool3d")
class LPPoolingBackward(Backward):
    """Gradients through the roots, added to the elements of each window, and through the powers."""

    rule = ("∂L/∂x = xᵖ⁻¹ · Σ g·y¹⁻ᵖ over the windows that hold the element; 0 for windows with y = 0",)
    saved = ("self", "result")

    def derivatives(self, op: LPPooling) -> tuple[str, ...]:
        scaled = ("each g·y¹⁻ᵖ is multiplied by the factor that scales its window as if it were full",)
        return self.rule + (scaled if op.ceil_mode else ())

    def cost(self, op: LPPooling, call: BackwardCall) -> Sequence[Term]:
        results, elements = op.results(call.outputs[0]), {"elements": call.input().elements}
        return (
            Term.of("transcendental", "power of result", **results),
            Term.of("mul", "gradient of root", **results, each=2 if op.ceil_mode else 1),
            Term.of("compare", "windows of zeros", **results),
            Term.of("add", "gradient of sum", **results, taps=product(op.kernel)),
            Term.of("transcendental", "power of input", **elements),
            Term.of("mul", "gradient of power", **elements),
        )
