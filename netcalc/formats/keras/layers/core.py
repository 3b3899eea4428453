"""Dense layers and embeddings."""

from __future__ import annotations

import re

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import activated
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped

_EQUATION = re.compile(r"([A-Za-z.]+),([A-Za-z]+)->([A-Za-z.]+)")


@layer("Dense")
def dense(call: Call) -> Operand:
    operand, units = call.operand(), call.integer("units")
    if operand.rank < 2:
        raise RuleError("its input has no axis of features")
    weight = call.weight("weight", "kernel", (operand.shape[-1], units), Form((1, 0)))
    bias = call.weight("bias", "bias", (units,)) if call.flag("use_bias", True) else None
    result = weighted(call.build, "linear", call.last(), weight, bias, {"out": units})
    return activated(call, Operand(result, mask=operand.mask))


@layer("EinsumDense")
def einsum_dense(call: Call) -> Operand:
    """A product by an equation, whose weight has letters of the input and of the result."""
    operand, equation = call.operand(), str(call.get("equation", ""))
    found = _EQUATION.fullmatch(equation.replace(" ", ""))
    if found is None:
        raise RuleError(f"equation {clipped(equation)}")
    source, kernel, target = found.groups()
    before = max(operand.rank - len(source.replace("...", "")), 0) if "..." in source else 0
    lead = "".join(letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in equation)[:before]
    source, target = source.replace("...", lead), target.replace("...", lead)
    if len(source) != operand.rank or "." in source + target:
        raise RuleError(f"equation {clipped(equation)} of an input of {operand.rank} axes")
    sizes = dict(zip(source, operand.shape, strict=True))
    declared = call.get("output_shape")
    listed = declared if isinstance(declared, list) else [declared]
    for letter, size in zip(target[::-1], listed[::-1], strict=False):
        if isinstance(size, int):
            sizes.setdefault(letter, size)
    if any(letter not in sizes for letter in kernel + target):
        raise RuleError(f"output_shape {clipped(declared)} of equation {clipped(equation)}")
    weight = call.weight("kernel", "kernel", [sizes[letter] for letter in kernel])
    result = call.line("einsum", [call.last(), weight], {"equation": f"{source},{kernel}->{target}"})
    axes = call.get("bias_axes")
    if axes is not None:
        shape = [sizes[letter] if letter in axes else 1 for letter in target]
        while len(shape) > 1 and shape[0] == 1 and target[len(target) - len(shape)] not in axes:
            shape.pop(0)
        result = call.line("add", [result, call.weight("bias", "bias", shape)])
    return activated(call, Operand(result))


@layer("Embedding")
def embedding(call: Call) -> Operand:
    rows, features = call.integer("input_dim"), call.integer("output_dim")
    call.get("input_length")
    weight = call.weight("weight", "embeddings", (rows, features))
    attributes = {"num_embeddings": rows, "embedding_dim": features}
    tokens = cast(call.build, call.last(), "int64")
    mask = call.line("not_equal", [tokens], {"value": 0}) if call.flag("mask_zero") else None
    return Operand(call.build.line("embedding", [tokens], attributes, {"weight": weight}), mask=mask)


@layer("Identity", "ActivityRegularization")
def identity(call: Call) -> Operand:
    for name in ("l1", "l2"):
        call.get(name)
    return call.operand()


@layer("Masking")
def masking(call: Call) -> Operand:
    """Steps with one value in all features, which become zeros and are hidden from the layers after it."""
    value, x = call.number("mask_value", 0.0), call.last()
    mask = call.line("any", [call.line("not_equal", [x], {"value": value})], {"axis": -1})
    spread = call.line("unsqueeze", [cast(call.build, mask, x.type.dtype)], {"axis": -1})
    return Operand(call.line("mul", [x, spread]), mask=mask)
