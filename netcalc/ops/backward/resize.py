"""Backward passes of :mod:`netcalc.ops.resize`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops._windows import AXES
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward.adaptive_pool import AdaptiveAvgPoolingBackward
from netcalc.ops.resize import Interpolate

_AREA = AdaptiveAvgPoolingBackward()


@backward("interpolate")
class InterpolateBackward(Backward):
    """The gradient times the weights of the filter, added to the elements that it spans, axis by axis."""

    rule = (
        "∂L/∂x[j] = Σ g[i]·w[i, j] over the elements i of the result, w being the weights of y[i] = Σ w[i, j]·x[j]",
    )

    def saves(self, op: Interpolate, call: BackwardCall) -> Sequence[Saved]:
        return _AREA.saves(op.pooling(call.outputs[0]), call) if op.mode == "area" else ()

    def cost(self, op: Interpolate, call: BackwardCall) -> Sequence[Term]:
        x, y = call.input(), call.outputs[0]
        if op.mode == "area":
            return _AREA.cost(op.pooling(y), call)
        names = ("batch", "channels", *AXES[x.rank - 2])
        shape, terms = list(y.shape), []
        for axis, factor in enumerate(op.factors(x.rank - 2), start=2):
            elements = dict(zip(names, shape, strict=True))
            shape[axis] = x.shape[axis]
            if op.mode.startswith("nearest"):
                terms.append(Term.of("add", "sum", **elements))
                continue
            taps = op.taps(x.shape[axis], y.shape[axis], factor)
            terms.append(Term.of("mul", "weights", **elements, taps=taps))
            terms.append(Term.of("add", "sum", **elements, taps=taps))
        return terms
