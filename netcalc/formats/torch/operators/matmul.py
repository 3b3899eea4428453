"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.matmul import product
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import operator_and_in_place
from netcalc.formats.torch.operators.complex_numbers import conjugates


@operator("aten.matmul.default", "aten.mm.default", "aten.bmm.default", "aten.linalg_matmul.default")
def matmul(build: Builder, input: Value, **factor: Value) -> Value:
    (other,) = factor.values()
    return product(build, input, other)


@operator("aten.mv.default")
def matrix_and_vector(build: Builder, input: Value, vec: Value) -> Value:
    return build.line("matmul", [input, vec])


@operator("aten.dot.default")
def dot(build: Builder, input: Value, tensor: Value) -> Value:
    return build.line("matmul", [input, tensor])


@operator("aten.vdot.default")
def vdot(build: Builder, input: Value, other: Value) -> Value:
    return build.line("matmul", [conjugates(build, input), other])


@operator("aten.inner.default")
def inner(build: Builder, input: Value, other: Value) -> Value:
    if not input.type.shape or not other.type.shape:
        return build.line("mul", [input, other])
    if len(other.type.shape) == 2 and other.stored is not None and input.type.is_inexact:
        return weighted(build, "linear", input, other, None, {"out": other.type.shape[0]})
    first = "abcdefghijkl"[: len(input.type.shape) - 1]
    second = "mnopqrstuvwx"[: len(other.type.shape) - 1]
    return build.line("einsum", [input, other], {"equation": f"{first}z,{second}z->{first}{second}"})


@operator("aten.outer.default", "aten.ger.default")
def outer(build: Builder, input: Value, vec2: Value) -> Value:
    return build.line("mul", [build.line("unsqueeze", [input], {"axis": -1}), vec2])


@operator_and_in_place("aten.addmm.default")
def addmm(build: Builder, input: Value, mat1: Value, mat2: Value, beta: Any, alpha: Any) -> Value:
    features = mat2.type.shape[1]
    if alpha == beta == 1 and input.type.shape == (features,):
        return product(build, mat1, mat2, input)
    return _sum(build, product(build, mat1, mat2), input, beta, alpha)


@operator_and_in_place("aten.baddbmm.default")
def baddbmm(build: Builder, input: Value, batch1: Value, batch2: Value, beta: Any, alpha: Any) -> Value:
    return _sum(build, product(build, batch1, batch2), input, beta, alpha)


@operator_and_in_place("aten.addbmm.default")
def addbmm(build: Builder, input: Value, batch1: Value, batch2: Value, beta: Any, alpha: Any) -> Value:
    total = build.line("sum", [product(build, batch1, batch2)], {"axis": 0})
    return _sum(build, total, input, beta, alpha)


@operator_and_in_place("aten.addmv.default")
def addmv(build: Builder, input: Value, mat: Value, vec: Value, beta: Any, alpha: Any) -> Value:
    return _sum(build, build.line("matmul", [mat, vec]), input, beta, alpha)


def _sum(build: Builder, product: Value, input: Value, beta: Any, alpha: Any) -> Value:
    """Add alpha·product + beta·input; an input with beta 0 is not read."""
    if alpha != 1:
        product = build.line("mul", [product], {"value": alpha})
    if beta == 0:
        return product
    return build.line("add", [product, input if beta == 1 else build.line("mul", [input], {"value": beta})])


@operator("aten.einsum.default")
def einsum(build: Builder, equation: str, tensors: list[Value], path: list[int] | None) -> Value:
    equation = equation.replace(" ", "")
    if path is None or len(tensors) < 3:
        return build.line("einsum", tensors, {"equation": equation})
    parts, arrow, output = equation.partition("->")
    if not arrow or "." in equation:
        raise RuleError("einsum in an order of its own takes letters and an output")
    operands = list(zip(parts.split(","), tensors, strict=True))
    for first, second in zip(path[::2], path[1::2], strict=True):
        pair = [operands[first], operands[second]]
        operands = [operand for index, operand in enumerate(operands) if index not in (first, second)]
        needed = output + "".join(labels for labels, _ in operands)
        labels = "".join(dict.fromkeys(label for labels, _ in pair for label in labels if label in needed))
        labels = labels if operands else output
        written = f"{pair[0][0]},{pair[1][0]}->{labels}"
        operands.append((labels, build.line("einsum", [value for _, value in pair], {"equation": written})))
    return operands[0][1]


@operator("aten.tensordot.default")
def tensordot(build: Builder, input: Value, other: Value, dims_self: list[int], dims_other: list[int]) -> Value:
    first, second = (len(value.type.shape) for value in (input, other))
    if not dims_self:
        raise RuleError("tensordot sums over at least one axis")
    left = list("abcdefghijklm"[:first])
    right = list("nopqrstuvwxyz"[:second])
    for axis, match in zip(dims_self, dims_other, strict=True):
        right[match] = left[axis]
    result = [label for label in left if label not in right] + [label for label in right if label not in left]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(result)}"
    return build.line("einsum", [input, other], {"equation": equation})


@operator("aten.linalg_vecdot.default")
def vecdot(build: Builder, x: Value, y: Value, dim: int) -> Value:
    return build.line("sum", [build.line("mul", [conjugates(build, x), y])], {"axis": dim})


@operator("aten.trace.default")
def trace(build: Builder, input: Value) -> Value:
    return build.line("einsum", [input], {"equation": "ii->"})
