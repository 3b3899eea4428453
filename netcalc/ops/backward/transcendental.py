"""Backward passes of :mod:`netcalc.ops.transcendental`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import backward
from netcalc.ops.backward._elementwise import declare
from netcalc.ops.backward._pairs import Pairs, Side, Stage
from netcalc.ops.backward.arithmetic import negation
from netcalc.ops.transcendental import Atan2

declare("expm1", derivative="g·(y + 1)", work={"add": 1, "mul": 1}, saves="result")
declare("exp2", derivative="g·y·ln 2", work={"mul": 2}, saves="result")
declare("log1p", derivative="g/(1 + x)", work={"add": 1, "div": 1}, saves="self")
declare("log2", derivative="g/(x·ln 2)", work={"mul": 1, "div": 1}, saves="self")
declare("log10", derivative="g/(x·ln 10)", work={"mul": 1, "div": 1}, saves="self")
declare("tan", derivative="g·(1 + y²)", work={"mul": 2, "add": 1}, saves="result")
declare("asin", derivative="g/√(1 − x²)", work={"mul": 1, "add": 1, "transcendental": 1, "div": 1}, saves="self")
declare("acos", derivative="−g/√(1 − x²)", work={"mul": 1, "add": 2, "transcendental": 1, "div": 1}, saves="self")
declare("atan", derivative="g/(1 + x²)", work={"mul": 1, "add": 1, "div": 1}, saves="self")
declare("sinh", derivative="g·cosh(x)", work={"transcendental": 1, "mul": 1}, saves="self")
declare("cosh", derivative="g·sinh(x)", work={"transcendental": 1, "mul": 1}, saves="self")
declare("asinh", derivative="g/√(x² + 1)", work={"mul": 1, "add": 1, "transcendental": 1, "div": 1}, saves="self")
declare("acosh", derivative="g/√(x² − 1)", work={"mul": 1, "add": 1, "transcendental": 1, "div": 1}, saves="self")
declare("atanh", derivative="g/(1 − x²)", work={"mul": 1, "add": 1, "div": 1}, saves="self")
declare("erf", derivative="(2/√π)·g·exp(−x²)", work={"mul": 3, "add": 1, "transcendental": 1}, saves="self")
declare("erfc", derivative="−(2/√π)·g·exp(−x²)", work={"mul": 3, "add": 1, "transcendental": 1}, saves="self")
declare("erfinv", derivative="(√π/2)·g·exp(y²)", work={"mul": 3, "transcendental": 2}, saves="self")


@backward("atan2")
class Atan2Backward(Pairs):
    """The rotation of the point, by the square of its distance."""

    rule = (
        "∂L/∂a = g/(a² + b²)·b",
        "∂L/∂b = −g/(a² + b²)·a, summed over the axes along which the operand was broadcast",
    )

    def kept(self, op: Atan2, stage: Stage) -> Sequence[Side]:
        return ("left", "right")

    def work(self, op: Atan2, stage: Stage) -> Sequence[Term]:
        work = [Term.of("mul", "square", elements=x.elements) for x in (stage.left, stage.right) if x is not None]
        work += [stage.each("add", "squared distance"), stage.each("div", "gradient over squared distance")]
        work.append(stage.each("mul", "gradient", stage.wants_left + stage.wants_right))
        return [*work, negation(stage)] if stage.wants_right else work
