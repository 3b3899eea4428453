"""Products of matrices."""

from __future__ import annotations

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.matmul import product
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


@operator("MatMul")
def matmul(call: Call) -> Value:
    return product(call.build, call.x(0), call.x(1))


@operator("Gemm")
def gemm(call: Call) -> Value:
    """alpha·A·B + beta·C with either matrix transposed; without factors a linear map."""
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    result = affine(call, call.x(0), call.x(1), call.optional(2) if beta else None, alpha, beta)
    return cast(call.build, result, call.type(0).dtype)


def affine(call: Call, first: Value, second: Value, bias: Value | None, alpha: float = 1.0, beta: float = 1.0) -> Value:
    """Return alpha·A·B + beta·C, with either matrix transposed as the attributes say."""
    first, second = (
        permuted(call.build, value, [1, 0]) if call.attribute(name, 0) else value
        for value, name in ((first, "transA"), (second, "transB"))
    )
    whole = float(alpha).is_integer()
    if alpha == beta == 1 and bias is not None and bias.type.shape == second.type.shape[1:]:
        return product(call.build, first, second, bias)
    result = product(call.build, first, second)
    if alpha != 1:
        result = call.line("mul", [result], {"value": int(alpha) if whole else alpha})
    if bias is None:
        return result
    scaled = bias if beta == 1 else call.line("mul", [bias], {"value": beta})
    return call.line("add", [result, scaled])


@operator("Einsum")
def einsum(call: Call) -> Value:
    equation = call.attribute("equation", "").replace(" ", "")
    return call.line("einsum", [call.x(place) for place in range(len(call))], {"equation": equation})


@operator("Det")
def det(call: Call) -> Value:
    return call.line("det", [call.x()])


@operator("MatMulInteger")
def matmul_integer(call: Call) -> Value:
    """(A − a₀)·(B − b₀) in 32-bit integers."""
    operands = []
    for place in (0, 1):
        value = cast(call.build, call.x(place), "int32")
        if call.has(place + 2):
            zero = cast(call.build, call.x(place + 2), "int32")
            if place == 0 and zero.type.rank == 1 and zero.type.shape[0] != 1:
                zero = call.line("unsqueeze", [zero], {"axis": -1})
            value = call.line("sub", [value, zero])
        operands.append(value)
    if not all(operand.type.rank for operand in operands):
        raise RuleError("products of numbers")
    return call.line("matmul", operands)
