"""Tensors that nodes make: of one number, of numbers that count, identity matrices, and random ones."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.known import Known
from netcalc.formats.onnx.operators import operator


@operator("ConstantOfShape")
def constant_of_shape(call: Call) -> Value:
    value = call.tensor("value") or Known("float32", (1,), (0.0,))
    return call.build.filled(call.ints(0, "the shape"), value.elements[0], value.dtype)


@operator("Range")
def range_(call: Call) -> Value:
    start, stop, step = (call.needed(place, "a range").elements[0] for place in range(3))
    dtype = call.type(0).dtype
    attributes = {"start": start or None, "stop": stop, "step": None if step == 1 else step}
    return call.line("arange", [], {**attributes, "dtype": None if dtype == "int64" else dtype})


@operator("EyeLike")
def eye_like(call: Call) -> Value:
    rows, columns = call.shape(0)
    offset = call.attribute("k", 0)
    kind = call.attribute("dtype")
    dtype = call.type(0).dtype if kind is None else dtype_named(kind)
    row = call.line("unsqueeze", [call.line("arange", [], {"stop": rows})], {"axis": 1})
    column: Any = call.line("arange", [], {"start": -offset or None, "stop": columns - offset})
    return cast(call.build, call.line("equal", [row, column]), dtype)


@operator("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")
def random(call: Call) -> Value:
    raise RuleError("random numbers")
