"""Orthogonal decompositions of matrices, and what is computed of singular values."""

# ruff: noqa: N803 - PyTorch's names of matrices

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly, equal
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.linalg import transposed
from netcalc.formats.torch.operators.reduce import matrix_norm

_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


@operator("aten.linalg_qr.default")
def qr(build: Builder, A: Value, mode: str) -> tuple[Value, ...]:
    rows, columns = A.type.shape[-2:]
    if mode == "r" or (mode == "complete" and not rows <= columns):
        raise RuleError(f"qr with mode {mode!r} is not expressible")
    return build.lines("qr", [A])


@operator("aten.qr.default")
def legacy_qr(build: Builder, input: Value, some: bool) -> tuple[Value, ...]:
    return qr(build, input, "reduced" if some else "complete")


@operator("aten.linalg_svd.default")
def svd(build: Builder, A: Value, full_matrices: bool, driver: Any = None) -> tuple[Value, ...]:
    square = equal(*A.type.shape[-2:])
    return build.lines("svd", [A], {"full_matrices": (full_matrices and not square) or None})


@operator("aten.svd.default")
def legacy_svd(build: Builder, input: Value, some: bool, compute_uv: bool) -> tuple[Value, ...]:
    """The decomposition A = U·diag(S)·Vᵀ, with V in place of its transpose."""
    if not compute_uv:
        raise RuleError("svd without vectors is not expressible; torch.linalg.svdvals is")
    u, s, vh = svd(build, input, not some)
    return u, s, transposed(build, vh)


@operator("aten.linalg_svdvals.default")
def svdvals(build: Builder, A: Value, driver: Any = None) -> Value:
    return build.line("svdvals", [A])


@operator("aten.linalg_eigh.default")
def eigh(build: Builder, input: Value, UPLO: str) -> tuple[Value, ...]:
    return build.lines("eigh", [input], {"upper": UPLO.upper() == "U" or None})


@operator("aten.linalg_eigvalsh.default")
def eigvalsh(build: Builder, input: Value, UPLO: str) -> Value:
    return build.line("eigvalsh", [input], {"upper": UPLO.upper() == "U" or None})


def _require_numbers(hermitian: bool, *bounds: Any) -> None:
    if hermitian or any(isinstance(bound, Value) for bound in bounds):
        raise RuleError("bounds that are tensors, and eigenvalues in place of singular values, are not expressible")


@operator("aten.linalg_pinv.atol_rtol_float", "aten.linalg_pinv.atol_rtol_tensor")
def pinv(build: Builder, input: Value, hermitian: bool, atol: Any = None, rtol: Any = None) -> Value:
    """The pseudoinverse; an absolute bound replaces the relative one, unless both are given."""
    _require_numbers(hermitian, atol, rtol)
    if rtol is None and atol:
        rtol = 0.0
    return build.line("pinv", [input], {"rtol": rtol, "atol": unless_default(float(atol or 0.0), 0.0)})


@operator("aten.linalg_pinv.default", "aten.pinverse.default")
def pinv_by_rcond(build: Builder, input: Value, rcond: float, hermitian: bool = False) -> Value:
    return pinv(build, input, hermitian, rtol=float(rcond))


# -- functions of singular values -------------------------------------------------------------------------


@operator("aten.nuclear_norm.default", "aten.nuclear_norm.dim")
def nuclear_norm(build: Builder, input: Value, keepdim: bool, dim: Any = (-2, -1)) -> Value:
    return matrix_norm(build, input, "nuc", list(dim), keepdim, None)


@operator("aten.linalg_cond.default", "aten.linalg_cond.p_str")
def cond(build: Builder, input: Value, p: Any) -> Value:
    """The ratio of the extreme singular values, or the product of the norms of a matrix and its inverse."""
    if p in (None, 2, -2):
        values = svdvals(build, input)
        ends = [build.line("select", [values], {"axis": -1, "index": index}) for index in (0, -1)]
        return build.line("div", ends if p != -2 else ends[::-1])
    norms = [matrix_norm(build, x, p, [-2, -1], False, None) for x in (input, build.line("inv", [input]))]
    return build.line("mul", norms)


@operator("aten.linalg_matrix_rank.atol_rtol_float", "aten.linalg_matrix_rank.atol_rtol_tensor")
def matrix_rank(build: Builder, input: Value, hermitian: bool, atol: Any, rtol: Any) -> Value:
    """The number of singular values that are above a bound."""
    _require_numbers(hermitian, atol, rtol)
    values = svdvals(build, input)
    if rtol is None:
        longer = max(input.type.shape[-2:])
        if isinstance(longer, Poly):
            raise RuleError("the bound of a rank depends on sizes that are symbolic")
        rtol = 0.0 if atol else longer * _EPSILON[input.type.dtype]
    largest = build.line("slice", [values], {"axis": -1, "stop": 1})
    bound = build.line("mul", [largest], {"value": rtol})
    if atol:
        bound = build.line("maximum", [bound], {"value": float(atol)})
    return build.line("sum", [build.line("greater", [values, bound])], {"axis": -1})


@operator("aten.linalg_matrix_rank.default")
def matrix_rank_above(build: Builder, input: Value, tol: float, hermitian: bool) -> Value:
    return matrix_rank(build, input, hermitian, float(tol), 0.0)
