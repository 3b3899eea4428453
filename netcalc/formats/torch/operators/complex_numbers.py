"""Complex numbers, their parts, and their polar form."""

from __future__ import annotations

from functools import partial

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import constant_value
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


def _line(operation: str, build: Builder, input: Value) -> Value:
    return build.line(operation, [input])


for _name in ("view_as_complex", "view_as_real"):
    operator(f"aten.{_name}.default", f"aten.{_name}_copy.default")(partial(_line, _name))
operator("aten.imag.default")(partial(_line, "imag"))


@operator("aten.real.default")
def real(build: Builder, input: Value) -> Value:
    return build.line("real", [input]) if input.type.is_complex else input


@operator(
    *("aten.conj.default", "aten._conj.default", "aten._conj_copy.default"),
    *("aten.conj_physical.default", "aten._conj_physical.default"),
)
def conjugates(build: Builder, input: Value) -> Value:
    return build.line("conj", [input]) if input.type.is_complex else input


@operator("aten._neg_view.default", "aten._neg_view_copy.default")
def negated(build: Builder, input: Value) -> Value:
    return build.line("neg", [input])


@operator("aten.complex.default")
def complex_of(build: Builder, real: Value, imag: Value) -> Value:
    return build.line("complex", [real, imag])


@operator("aten.polar.default")
def polar(build: Builder, abs: Value, angle: Value) -> Value:
    if constant_value(build, abs) == 1:
        return build.line("complex", [build.line(function, [angle]) for function in ("cos", "sin")])
    return build.line("polar", [abs, angle])


@operator("aten.angle.default")
def angle(build: Builder, input: Value) -> Value:
    if input.type.is_complex:
        return build.line("angle", [input])
    return combined(build, "atan2", 0.0, input)
