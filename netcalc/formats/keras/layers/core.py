"""Dense layers and embeddings."""

from __future__ import annotations

import re
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form, Variable
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import activated
from netcalc.formats.keras.layers._arithmetic import any_along
from netcalc.formats.keras.layers._wrapped import wrapped
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


@layer("ReversibleEmbedding")
def reversible_embedding(call: Call) -> Operand:
    """An embedding, or with ``reverse`` the products of vectors with its rows, or with a matrix of its own."""
    rows, features = call.integer("input_dim"), call.integer("output_dim")
    call.flag("mask_zero")
    tied, cap = call.flag("tie_weights", True), call.get("logit_soft_cap")
    call.without("reverse_dtype", "float32")
    table = call.weight("weight", "embeddings", (rows, features))
    other = None
    if not tied:
        path = f"{call.around.path}.reverse"
        other = call.weight("weight", "reverse_embeddings", (features, rows), Form((1, 0)), path=path)
    if not call.argument(1, "reverse", False):
        return embedding(call)
    result = weighted(call.build, "linear", call.last(), other or table, None, {"out": rows})
    if cap is not None:
        limit = float(call.number("logit_soft_cap"))
        part = call.line("tanh", [call.line("div", [result], {"value": limit})])
        result = call.line("mul", [part], {"value": limit})
    return Operand(result)


@layer("SpectralNormalization")
def spectral_normalization(call: Call) -> Any:
    """A layer whose weight training divides by its largest singular value, which the file then has."""
    inner = wrapped(call, "layer")
    call.get("power_iterations")
    result = call.around.inner(inner, "layer", call.operand())
    group, variables = call.around.group, call.around.weights.variables
    held = ((f"{group}/layer", name) for name in ("kernel", "embeddings"))
    found = [variables[place] for place in held if place in variables]
    if not found:
        raise RuleError(f"{clipped(inner.kind)} inside of it has no weight to normalize")
    kernel = found[0]  # which files have twice
    variables[group, "kernel"] = Variable(group, "kernel", kernel.shape, kernel.trainable)
    call.weight("vector_u", "vector_u", (1, kernel.shape[-1]), trainable=False)
    return result


@layer("Identity", "ActivityRegularization")
def identity(call: Call) -> Operand:
    for name in ("l1", "l2"):
        call.get(name)
    return call.operand()


@layer("Masking")
def masking(call: Call) -> Operand:
    """Steps with one value in all features, which become zeros and are hidden from the layers after it."""
    value, x = call.number("mask_value", 0.0), call.last()
    mask = any_along(call, call.line("not_equal", [x], {"value": value}), [x.type.rank - 1])
    spread = call.line("unsqueeze", [cast(call.build, mask, x.type.dtype)], {"axis": -1})
    return Operand(call.line("mul", [x, spread]), mask=mask)
