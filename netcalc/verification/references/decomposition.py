"""References of :mod:`netcalc.ops.decomposition`: Jacobi's rotations, and reflections.

Vectors have signs that nothing defines, so that they have no values here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._elimination import solution
from netcalc.verification.references._jacobi import eigenvalues, orthogonal_columns, singular_values


def _values(x: Array, count: int, compute: Callable[[Array], Array]) -> Expected:
    """Return values of matrices, with errors relative to the norm of the matrix."""

    @cache
    def of(batch: Shape) -> tuple[Array, float]:
        return compute(x[batch]), float(np.linalg.norm(x[batch].astype(np.float64)))

    def at(index: Shape) -> Value:
        found, norm = of(index[:-1])
        return Value(float(found[index[-1]]), norm)

    return Expected((*x.shape[:-2], count), x.dtype.name, at, x.shape[-2] * x.shape[-1] * count)


@reference("svdvals")
def svdvals(op: Attributes, x: Array) -> Expected:
    return _values(x, min(x.shape[-2:]), singular_values)


@reference("svd")
def svd(op: Attributes, x: Array) -> tuple[Expected, ...]:
    *batch, m, n = x.shape
    k = min(m, n)
    left, right = (m, n) if op.full_matrices else (k, k)
    u, vh = (Expected((*batch, *shape), x.dtype.name, None) for shape in ((m, left), (right, n)))
    return u, _values(x, k, singular_values), vh


@reference("eigvalsh")
def eigvalsh(op: Attributes, x: Array) -> Expected:
    return _eigenvalues(op, x)


def _eigenvalues(op: Attributes, x: Array) -> Expected:
    def compute(matrix: Array) -> Array:
        triangle = np.triu(matrix) if op.upper else np.tril(matrix)
        return eigenvalues(triangle + triangle.T - np.diag(np.diagonal(matrix)))

    return _values(x, x.shape[-1], compute)


@reference("eigh")
def eigh(op: Attributes, x: Array) -> tuple[Expected, ...]:
    return _eigenvalues(op, x), Expected(x.shape, x.dtype.name, None)


@reference("qr")
def qr(op: Attributes, x: Array) -> tuple[Expected, Expected]:
    *batch, m, n = x.shape
    k = min(m, n)

    @cache
    def of(place: Shape) -> tuple[Array, Array, float, float]:
        """Return the factors by reflections, the condition of the columns and the norm of the matrix."""
        r, q = x[place].astype(np.longdouble), np.eye(m, dtype=np.longdouble)
        for column in range(min(m - 1, n)):
            mirror = r[column:, column].copy()
            if not mirror[1:].any():
                continue
            mirror[0] += math.copysign(1, mirror[0]) * np.sqrt((mirror * mirror).sum())
            mirror /= np.sqrt((mirror * mirror).sum())
            r[column:] -= 2 * np.outer(mirror, mirror @ r[column:])
            q[:, column:] -= 2 * np.outer(q[:, column:] @ mirror, mirror)
        norm = float(np.sqrt((r * r).sum()))
        inverse = solution(r[:k, :k], np.eye(k)).astype(np.float64)
        condition = norm * float(np.sqrt((inverse * inverse).sum()))
        return q[:, :k], np.triu(r[:k]), condition if math.isfinite(condition) else math.inf, norm

    def at_q(index: Shape) -> Value:
        q, _, condition, _ = of(index[:-2])
        return Value(float(q[index[-2:]]), condition)

    def at_r(index: Shape) -> Value:
        _, r, condition, norm = of(index[:-2])
        return Value(float(r[index[-2:]]), condition * norm)

    reads = m * n
    return (
        Expected((*batch, m, k), x.dtype.name, at_q, reads),
        Expected((*batch, k, n), x.dtype.name, at_r, reads),
    )


@reference("pinv")
def pinv(op: Attributes, x: Array) -> Expected:
    *batch, m, n = x.shape

    @cache
    def of(place: Shape) -> tuple[Array, float]:
        """Return the inverse as a sum over singular values, and its error; infinite for a value at the bound."""
        columns, turns = orthogonal_columns(x[place] if m >= n else x[place].T)
        values = np.sqrt((columns**2).sum(0))
        largest, eps = values.max(), float(np.finfo(x.dtype).eps)
        bound = max((max(m, n) * eps if op.rtol is None else op.rtol) * largest, op.atol)
        kept = values > bound
        inverse = (turns[:, kept] / values[kept] ** 2) @ columns[:, kept].T
        if (np.abs(values - bound) <= 8 * max(m, n) * eps * largest).any():
            return inverse, math.inf
        least, dropped = values[kept].min(initial=math.inf), values[~kept].max(initial=0.0)
        return inverse if m >= n else inverse.T, float(largest / (least * (least - dropped)))

    def at(index: Shape) -> Value:
        inverse, error = of(index[:-2])
        return Value(float(inverse[index[-2:]]) if math.isfinite(error) else 0.0, error)

    return Expected((*batch, n, m), x.dtype.name, at, m * n)
