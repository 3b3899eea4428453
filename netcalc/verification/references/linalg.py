"""References of :mod:`netcalc.ops.linalg`: elimination, and the sums of the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._elimination import eliminated, sensitivity, solution


def _values(matrix: Array, sides: Array) -> tuple[Array, Array]:
    found = solution(matrix, sides)
    return found, sensitivity(matrix, found, sides)


@reference("inv")
def inv(op: Attributes, x: Array) -> Expected:
    n = x.shape[-1]

    @cache
    def inverse(batch: Shape) -> tuple[Array, Array]:
        return _values(x[batch], np.eye(n))

    def at(index: Shape) -> Value:
        found, magnitude = inverse(index[:-2])
        return Value(float(found[index[-2:]]), float(magnitude[index[-2:]]))

    return Expected(x.shape, x.dtype.name, at, n * n)


@reference("det")
def det(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> Value:
        upper, _, sign = eliminated(x[index], np.zeros((x.shape[-1], 0)))
        rows = [math.hypot(*map(float, row)) for row in x[index]]  # Hadamard: the determinant is at most their product
        return Value(sign * float(np.prod(np.diagonal(upper))) if sign else 0.0, math.prod(rows))

    return Expected(x.shape[:-2], x.dtype.name, at, x.shape[-1] ** 2)


@reference("slogdet")
def slogdet(op: Attributes, x: Array) -> tuple[Expected, Expected]:
    @cache
    def of(batch: Shape) -> tuple[float, Value]:
        upper, _, sign = eliminated(x[batch], np.zeros((x.shape[-1], 0)))
        if not sign:
            return 0.0, Value(-math.inf, 0.0)
        pivots = np.diagonal(upper)
        logarithms = np.log(np.abs(pivots))
        # the derivative of the logarithm by the matrix is the transposed inverse
        changes = np.abs(solution(x[batch], np.eye(len(pivots)))).T * np.abs(x[batch])
        magnitude = float(np.abs(logarithms).sum() + changes.sum())
        return sign * float(np.prod(np.sign(pivots))), Value(float(logarithms.sum()), magnitude)

    shape, reads = x.shape[:-2], x.shape[-1] ** 2
    return (
        Expected(shape, x.dtype.name, lambda index: of(index)[0], reads),
        Expected(shape, x.dtype.name, lambda index: of(index)[1], reads),
    )


@reference("cholesky")
def cholesky(op: Attributes, x: Array) -> Expected:
    n = x.shape[-1]

    @cache
    def factor(batch: Shape) -> tuple[Array, Array]:
        """Return the factor, column by column, and the magnitude of its rounding errors."""
        given = x[batch].astype(np.longdouble)
        matrix = np.triu(given).T if op.upper else np.tril(given)
        lower = np.zeros_like(matrix)
        for column in range(n):
            rest = matrix[column:, column] - (lower[column:, :column] * lower[column, :column]).sum(-1)
            lower[column:, column] = rest / np.sqrt(rest[0])
        whole = matrix + np.tril(matrix, -1).T
        inverse = np.abs(solution(lower, np.eye(n)))
        return lower, np.abs(lower) @ (inverse @ np.abs(whole) @ inverse.T + np.eye(n))

    def at(index: Shape) -> Any:
        row, column = index[-2:][::-1] if op.upper else index[-2:]
        if column > row:
            return 0.0
        lower, magnitude = factor(index[:-2])
        return Value(float(lower[row, column]), float(magnitude[row, column]))

    return Expected(x.shape, x.dtype.name, at, n * n)


def _equations(x: Array, other: Array, triangle: Callable[[Array], Array], *, vectors: bool) -> Expected:
    sides = other[..., None] if vectors else other
    batch = np.broadcast_shapes(x.shape[:-2], sides.shape[:-2])
    n, columns = sides.shape[-2:]
    matrices = np.broadcast_to(x, (*batch, n, n))
    right = np.broadcast_to(sides, (*batch, n, columns))

    @cache
    def of(place: Shape) -> tuple[Array, Array]:
        return _values(triangle(matrices[place]), right[place])

    def at(index: Shape) -> Value:
        place = (*index, 0) if vectors else index
        found, magnitude = of(place[:-2])
        return Value(float(found[place[-2:]]), float(magnitude[place[-2:]]))

    shape = (*batch, n) if vectors else (*batch, n, columns)
    return Expected(shape, x.dtype.name, at, n * (n + columns))


@reference("solve")
def solve(op: Attributes, x: Array, other: Array) -> Expected:
    vectors = other.ndim == 1 or (other.ndim == x.ndim - 1 and other.shape == x.shape[:-1])
    return _equations(x, other, lambda matrix: matrix, vectors=vectors)


@reference("solve_triangular")
def solve_triangular(op: Attributes, x: Array, other: Array) -> Expected:
    def triangle(matrix: Array) -> Array:
        if op.unitriangular:
            matrix = matrix - np.diag(np.diagonal(matrix)) + np.eye(len(matrix))
        return np.triu(matrix) if op.upper else np.tril(matrix)

    return _equations(x, other, triangle, vectors=False)
