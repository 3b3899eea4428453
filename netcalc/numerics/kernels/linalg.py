"""Kernels of :mod:`netcalc.ops.linalg`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.numerics.kernels._lapack import (
    count_of,
    inverted,
    note_factorization,
    of_lapack,
    plain,
    solved,
    solved_triangular,
)
from netcalc.ops.linalg import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular


@kernel("inv")
def inv(op: Inv, run: Run, x: Array) -> Array:
    return like(x, inverted("inv", x, run.note))


@kernel("det")
def det(op: Det, run: Run, x: Array) -> Array:
    n, matrices = x.shape[-1], count_of(x)
    note_factorization(run.note, n, matrices)
    run.note("mul", matrices * (n - 1))
    return np.asarray(np.linalg.det(plain(x)))


@kernel("slogdet")
def slogdet(op: Slogdet, run: Run, x: Array) -> tuple[Array, Array]:
    n, matrices = x.shape[-1], count_of(x)
    note_factorization(run.note, n, matrices)
    run.note("compare", matrices * n)
    run.note("transcendental", matrices * n)
    run.note("add", matrices * (n - 1))
    sign, logarithm = np.linalg.slogdet(plain(x))
    return np.asarray(sign), np.asarray(logarithm)


@kernel("cholesky")
def cholesky(op: Cholesky, run: Run, x: Array) -> Array:
    n, matrices = x.shape[-1], count_of(x)
    lower = np.swapaxes(x, -1, -2) if op.upper else x
    factor: Array = of_lapack("cholesky", np.linalg.cholesky, lower, reason="a matrix is not positive definite")
    run.note("mul", matrices * sum((k + 1) * (n - k) for k in range(n)))
    run.note("add", matrices * sum(k * (n - k) for k in range(n)))
    return like(x, np.swapaxes(factor, -1, -2) if op.upper else factor)


@kernel("solve")
def solve(op: Solve, run: Run, x: Array, other: Array) -> Array:
    alone = other.ndim == 1 or (other.ndim == x.ndim - 1 and other.shape == x.shape[:-1])
    result = solved("solve", x, other[..., None] if alone else other, run.note)
    return like(x, result[..., 0] if alone else result)


@kernel("solve_triangular")
def solve_triangular(op: SolveTriangular, run: Run, x: Array, other: Array) -> Array:
    return like(x, solved_triangular(x, other, run.note, upper=op.upper, unit=op.unitriangular))
