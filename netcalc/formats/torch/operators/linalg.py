"""Inverses, determinants and systems of linear equations."""

# ruff: noqa: N803 - PyTorch's names of matrices

from __future__ import annotations

from math import nan
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, product
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.creation import filled


def transposed(build: Builder, input: Value) -> Value:
    """Return the transposed matrices."""
    return build.line("transpose", [input], {"axes": [-2, -1]})


def identity(build: Builder, like: Value, size: Dim) -> Value:
    """Return the identity matrix of a size, in the type of another value."""
    ones = filled(build, (size, size), 1, like.type.dtype)
    return build.line("triu", [build.line("tril", [ones])])


@operator("aten.linalg_inv.default", "aten.inverse.default")
def inv(build: Builder, input: Value | None = None, A: Value | None = None) -> Value:
    return build.line("inv", [input or A])


@operator("aten.linalg_inv_ex.default")
def inv_ex(build: Builder, A: Value, **_: Any) -> tuple[Value, Value]:
    """Return the inverse, and 0 for success: a run with a singular matrix is an error."""
    return build.line("inv", [A]), _success(build, A)


def _success(build: Builder, matrices: Value) -> Value:
    return filled(build, matrices.type.shape[:-2], 0, "int32")


@operator("aten.linalg_det.default", "aten.det.default")
def det(build: Builder, input: Value | None = None, A: Value | None = None) -> Value:
    return build.line("det", [input or A])


@operator("aten.linalg_slogdet.default", "aten.slogdet.default")
def slogdet(
    build: Builder,
    input: Value | None = None,
    A: Value | None = None,
) -> tuple[Value, ...]:
    return build.lines("slogdet", [input or A])


@operator("aten.logdet.default")
def logdet(build: Builder, input: Value) -> Value:
    """The logarithm of the magnitude of the determinant; NaN for a negative one."""
    sign, logarithm = build.lines("slogdet", [input])
    return build.line("masked_fill", [logarithm, build.line("less", [sign], {"value": 0.0})], {"value": nan})


# -- systems of equations -----------------------------------------------------------------------------------


@operator("aten.linalg_solve.default")
def solve(build: Builder, A: Value, B: Value, left: bool) -> Value:
    if left or B.type.rank == 1 or B.type.shape == A.type.shape[:-1]:
        return build.line("solve", [A if left else transposed(build, A), B])
    return transposed(build, build.line("solve", [transposed(build, A), transposed(build, B)]))


@operator("aten.linalg_solve_ex.default")
def solve_ex(build: Builder, A: Value, B: Value, left: bool, **_: Any) -> tuple[Value, Value]:
    """Return the solution, and 0 for success: a run with a singular matrix is an error."""
    return solve(build, A, B, left), _success(build, A)


@operator("aten.linalg_solve_triangular.default")
def solve_triangular(
    build: Builder,
    input: Value,
    B: Value,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> Value:
    attributes = {"upper": upper or None, "unitriangular": unitriangular or None}
    if left:
        return build.line("solve_triangular", [input, B], attributes)
    attributes["upper"] = not upper or None
    sides = [transposed(build, value) for value in (input, B)]
    return transposed(build, build.line("solve_triangular", sides, attributes))


@operator("aten.triangular_solve.default")
def triangular_solve(
    build: Builder,
    input: Value,
    A: Value,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> tuple[Value, Value]:
    matrices = transposed(build, A) if transpose else A
    attributes = {"upper": upper != transpose or None, "unitriangular": unitriangular or None}
    return build.line("solve_triangular", [matrices, input], attributes), A


@operator("aten.linalg_cholesky.default", "aten.cholesky.default")
def cholesky(build: Builder, input: Value, upper: bool) -> Value:
    return build.line("cholesky", [input], {"upper": upper or None})


@operator("aten.linalg_cholesky_ex.default")
def cholesky_ex(build: Builder, input: Value, upper: bool, **_: Any) -> tuple[Value, Value]:
    """Return the factor, and 0 for success: a run with a matrix that is not positive definite is an error."""
    return cholesky(build, input, upper), _success(build, input)


@operator("aten.cholesky_solve.default")
def cholesky_solve(build: Builder, input: Value, input2: Value, upper: bool) -> Value:
    """Substitution with L, and with Lᵀ."""
    lower, raised = input2, transposed(build, input2)
    if upper:
        lower, raised = raised, lower
    half = build.line("solve_triangular", [lower, input])
    return build.line("solve_triangular", [raised, half], {"upper": True})


@operator("aten.cholesky_inverse.default")
def cholesky_inverse(build: Builder, input: Value, upper: bool) -> Value:
    return cholesky_solve(build, identity(build, input, input.type.shape[-1]), input, upper)


@operator("aten.linalg_tensorinv.default")
def tensorinv(build: Builder, input: Value, ind: int) -> Value:
    """The inverse of a tensor, whose first axes are the rows of a matrix and the others its columns."""
    rows, columns = input.type.shape[:ind], input.type.shape[ind:]
    matrix = build.line("reshape", [input], {"shape": [product(rows), product(columns)]})
    return build.line("reshape", [build.line("inv", [matrix])], {"shape": [*columns, *rows]})


# -- products of matrices -------------------------------------------------------------------------------------


@operator("aten.kron.default")
def kron(build: Builder, input: Value, other: Value) -> Value:
    """Products of all elements of one with all of the other, block by block."""
    rank = max(input.type.rank, other.type.rank)
    sizes = [(*(1,) * (rank - value.type.rank), *value.type.shape) for value in (input, other)]
    apart = [
        build.line("reshape", [value], {"shape": [size if k == turn else 1 for size in shape for k in (0, 1)]})
        for turn, (value, shape) in enumerate(zip((input, other), sizes, strict=True))
    ]
    joined = [a * b for a, b in zip(*sizes, strict=True)]
    return build.line("reshape", [build.line("mul", apart)], {"shape": joined})


@operator("aten.cross.default")
def cross(build: Builder, input: Value, other: Value, dim: int | None) -> Value:
    """The product of vectors along an axis; without one, along the first of size 3."""
    if dim is None:
        dim = next((axis for axis, size in enumerate(input.type.shape) if size == 3), None)
    if dim is None:
        raise RuleError("there is no axis of size 3")
    return linalg_cross(build, input, other, dim)


@operator("aten.linalg_cross.default")
def linalg_cross(build: Builder, input: Value, other: Value, dim: int) -> Value:
    def turned(vector: Value, places: int) -> Value:
        return build.line("roll", [vector], {"shifts": places, "axis": dim})

    first = build.line("mul", [turned(input, 2), turned(other, 1)])
    return build.line("sub", [first, build.line("mul", [turned(input, 1), turned(other, 2)])])


@operator("aten.addr.default")
def addr(build: Builder, input: Value, vec1: Value, vec2: Value, beta: Any, alpha: Any) -> Value:
    """beta·input + alpha·vec1⊗vec2; an input with beta 0 is not read."""
    outer = build.line("mul", [build.line("unsqueeze", [vec1], {"axis": -1}), vec2])
    if alpha != 1:
        outer = build.line("mul", [outer], {"value": alpha})
    if beta == 0:
        return outer
    return build.line("add", [outer, input if beta == 1 else build.line("mul", [input], {"value": beta})])
