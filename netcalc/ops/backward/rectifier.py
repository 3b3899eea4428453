"""Backward passes of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._elementwise import declare
from netcalc.ops.rectifier import PReLU

declare("relu", derivative="0 where y ≤ 0, else g", work={"compare": 1}, saves="result")
declare("relu6", derivative="0 where x ≤ 0 or x ≥ 6, else g", work={"compare": 2}, saves="self")
declare("leaky_relu", derivative="g where x > 0, else negative_slope·g", work={"compare": 1, "mul": 1}, saves="self")
declare("squared_relu", derivative="2·max(x, 0)·g", work={"compare": 1, "mul": 2}, saves="self")


@backward("prelu")
class PReLUBackward(Backward):
    """The slope as derivative below zero, and the negative inputs as derivative by the slope."""

    rule = ("∂L/∂x = g where x > 0, else weight·g", "∂L/∂weight = Σ g·x where x ≤ 0, over all elements of a channel")

    def saves(self, op: PReLU, call: BackwardCall) -> Sequence[Saved]:
        saved = [call.saved_input("self")]
        if call.wants(0):
            saved.append(call.saved_parameter("weight", "weight"))
        return saved

    def cost(self, op: PReLU, call: BackwardCall) -> Sequence[Term]:
        elements = call.input().elements
        work = [Term.of("compare", "sign of input", elements=elements)]
        if call.wants(0):
            work.append(Term.of("mul", "gradient of input", elements=elements))
        if call.wants("weight"):
            work.append(Term.of("mul", "gradient of weight", elements=elements))
            work.append(Term.of("add", "sum of gradient of weight", sums=elements - op.num_parameters))
        return work
