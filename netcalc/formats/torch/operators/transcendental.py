"""Transcendental functions."""

from __future__ import annotations

from functools import partial
from math import sqrt

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import register_functions
from netcalc.formats.torch.operators._operands import operator_and_in_place

register_functions(*("log2", "log10", "tan", "sinh", "cosh"), asin="arcsin", acos="arccos", atan="arctan")
register_functions(asinh="arcsinh", acosh="arccosh", atanh="arctanh")
register_functions(expm1="special_expm1", exp2="special_exp2", log1p="special_log1p")
register_functions(erf="special_erf", erfc="special_erfc", erfinv="special_erfinv")
operator_and_in_place("aten.atan2.default", "aten.arctan2.default")(partial(combined, operation="atan2"))


@operator("aten.logaddexp.default")
def logaddexp(build: Builder, input: Value, other: Value) -> Value:
    distance = build.line("abs", [build.line("sub", [input, other])])
    rest = build.line("log1p", [build.line("exp", [build.line("neg", [distance])])])
    return build.line("add", [build.line("maximum", [input, other]), rest])


@operator("aten.special_ndtr.default")
def ndtr(build: Builder, input: Value) -> Value:
    """The distribution of normal numbers, ½·erfc(−x/√2)."""
    tail = build.line("erfc", [build.line("mul", [input], {"value": -sqrt(0.5)})])
    return build.line("mul", [tail], {"value": 0.5})
