"""Calls of NumPy's routines of LAPACK, substitution with triangular matrices, and the work of both.

The work is counted step by step, as the routines do it: in step k of an elimination on an n×n matrix, n − k − 1 rows
are left, and each takes a multiplication for its factor and n − k − 1 for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.opdef import Kind

#: Counts work of a kind.
Note: TypeAlias = Callable[[Kind, int], None]
#: The reason why LAPACK finds no singular values or eigenvalues.
NOT_FINITE = "the iteration does not converge, as for a matrix with NaN or infinities"
#: Rows of a triangle that are solved one by one.
_BLOCK = 16


def count_of(x: Array) -> int:
    """Return the number of matrices of an array."""
    return int(np.prod(x.shape[:-2], dtype=np.int64))


def note_factorization(note: Note, n: int, matrices: int) -> None:
    """Count the work of P·L·U: a reciprocal for each pivot, and an update of the rows below it."""
    note("mul", matrices * (n + sum(k + k * k for k in range(n))))
    note("add", matrices * sum(k * k for k in range(n)))


def note_inverse(note: Note, n: int, matrices: int) -> None:
    """Count the work of an inverse, with its factorization."""
    note("mul", matrices * ((2 * n * n + n + 3) * n // 2))
    note("add", matrices * (n * (n - 1) ** 2))


def note_triangle(note: Note, n: int, columns: int, *, unit: bool = False) -> None:
    """Count the work of substitution: row k takes k products with the rows before it, and a division."""
    note("mul", columns * sum(k + (not unit) for k in range(n)))
    note("add", columns * sum(range(n)))


def plain(x: Array) -> Array:
    """Return an array whose work is not counted by itself."""
    return np.asarray(x)


def of_lapack(what: str, function: Callable[..., Any], *arrays: Array, reason: str) -> Any:
    """Return the result of a routine of NumPy; RuleError (E602) with the reason if LAPACK finds none."""
    try:
        return function(*map(plain, arrays))
    except np.linalg.LinAlgError:
        raise RuleError(f"{what}: {reason}", code="E602") from None


def inverted(what: str, x: Array, note: Note) -> Array:
    """Return inverses of matrices, and count the work; RuleError (E602) for a singular one."""
    result: Array = of_lapack(what, np.linalg.inv, x, reason="a matrix is singular, and has no inverse")
    note_inverse(note, x.shape[-1], count_of(x))
    return result


def solved(what: str, x: Array, other: Array, note: Note) -> Array:
    """Return solutions of equations whose right sides are matrices, and count the work."""
    batch = np.broadcast_shapes(x.shape[:-2], other.shape[:-2])
    matrices, n = int(np.prod(batch, dtype=np.int64)), x.shape[-1]
    reason = "a matrix is singular, and its equations have no single solution"
    result: Array = of_lapack(what, np.linalg.solve, x, other, reason=reason)
    note_factorization(note, n, matrices)
    for _ in range(2):  # substitution with L, whose diagonal holds ones, and with U
        note("add", matrices * other.shape[-1] * sum(range(n)))
    note("mul", matrices * other.shape[-1] * (sum(range(n)) + sum(range(n + 1))))
    return result


def note_halves(note: Note, flops: int, matrices: int) -> None:
    """Count work of which half are multiplications."""
    note("mul", matrices * ((flops + 1) // 2))
    note("add", matrices * (flops // 2))


def singular(what: str, x: Array, note: Note, *, full: bool = False) -> tuple[Array, Array, Array]:
    """Return singular values and vectors, and count the work of Golub and Reinsch's iteration."""
    m, n = max(x.shape[-2:]), min(x.shape[-2:])
    u, s, vh = of_lapack(what, partial(np.linalg.svd, full_matrices=full), x, reason=NOT_FINITE)
    wide = full and m > n
    note_halves(note, n * (4 * m * m + 8 * m * n + 9 * n * n if wide else 14 * m * n + 8 * n * n), count_of(x))
    return u, s, vh


def eigen(what: str, x: Array, note: Note, *, upper: bool) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of symmetric matrices, and count the work of the QR iteration."""
    triangle = "U" if upper else "L"
    values, vectors = of_lapack(what, partial(np.linalg.eigh, UPLO=triangle), x, reason=NOT_FINITE)
    note_halves(note, 9 * x.shape[-1] ** 3, count_of(x))
    return values, vectors


def solved_triangular(x: Array, other: Array, note: Note, *, upper: bool, unit: bool = False) -> Array:
    """Return solutions of equations with triangular matrices by substitution, and count the work."""
    triangle, sides = plain(x), plain(other)
    batch = np.broadcast_shapes(triangle.shape[:-2], sides.shape[:-2])
    n, columns = sides.shape[-2:]
    solution = np.array(np.broadcast_to(sides, (*batch, n, columns)), dtype=sides.dtype)
    if upper:  # read backwards, it is a lower one
        triangle, reading = triangle[..., ::-1, ::-1], solution[..., ::-1, :]
    else:
        reading = solution
    _substitute(triangle, reading, unit)
    note_triangle(note, n, int(np.prod(batch, dtype=np.int64)) * columns, unit=unit)
    return solution


def _substitute(lower: Array, solution: Array, unit: bool) -> None:
    """Solve in place, in halves, so that most of the work is products of matrices."""
    n = lower.shape[-1]
    if n <= _BLOCK:
        for k in range(n):
            solution[..., k, :] -= (lower[..., k : k + 1, :k] @ solution[..., :k, :])[..., 0, :]
            if not unit:
                solution[..., k, :] /= lower[..., k, k, None]
        return
    half = n // 2
    _substitute(lower[..., :half, :half], solution[..., :half, :], unit)
    solution[..., half:, :] -= lower[..., half:, :half] @ solution[..., :half, :]
    _substitute(lower[..., half:, half:], solution[..., half:, :], unit)
