"""Rounding, and remainders of divisions."""

from __future__ import annotations

from functools import partial

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import register_functions
from netcalc.formats.torch.operators._operands import operator_and_in_place


def _rounded(operation: str, build: Builder, input: Value) -> Value:
    """Add an operation that gives whole numbers, which leaves integers as they are."""
    return build.line(operation, [input]) if input.type.is_float else input


register_functions("floor", "ceil", "round", rule=_rounded, trunc="fix")


@operator_and_in_place("aten.round.decimals")
def round_decimals(build: Builder, input: Value, decimals: int) -> Value:
    if not decimals or not input.type.is_float:
        return _rounded("round", build, input)
    places = build.line("mul", [input], {"value": 10.0**decimals})
    return build.line("div", [build.line("round", [places])], {"value": 10.0**decimals})


@operator_and_in_place("aten.frac.default")
def fraction(build: Builder, input: Value) -> Value:
    return build.line("sub", [input, build.line("trunc", [input])])


for _operation in ("remainder", "fmod"):
    operator_and_in_place(f"aten.{_operation}.Tensor", f"aten.{_operation}.Scalar")(
        partial(combined, operation=_operation)
    )
operator("aten.remainder.Scalar_Tensor")(partial(combined, operation="remainder"))
