"""Singular values and eigenvalues by Jacobi's rotations, in double precision."""

from __future__ import annotations

import math

import numpy as np

from netcalc.verification.references import Array

_SWEEPS = 40


def orthogonal_columns(matrix: Array) -> tuple[Array, Array]:
    """Return A·V with orthogonal columns, and V: for a matrix with as many rows as columns (Hestenes 1958)."""
    columns = matrix.astype(np.float64)
    turns = np.eye(columns.shape[1])
    for _ in range(_SWEEPS):
        largest = 0.0
        for i in range(columns.shape[1]):
            for j in range(i + 1, columns.shape[1]):
                a, b, c = (float(columns[:, p] @ columns[:, q]) for p, q in ((i, i), (j, j), (i, j)))
                if abs(c) <= 1e-16 * math.sqrt(a * b):
                    continue
                largest = max(largest, abs(c) / math.sqrt(a * b))
                turn = _rotation(a, b, c)
                columns[:, [i, j]], turns[:, [i, j]] = columns[:, [i, j]] @ turn, turns[:, [i, j]] @ turn
        if largest < 1e-15:
            break
    return columns, turns


def singular_values(matrix: Array) -> Array:
    """Return singular values in descending order."""
    columns, _ = orthogonal_columns(matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T)
    return np.sort(np.sqrt((columns**2).sum(0)))[::-1]


def eigenvalues(matrix: Array) -> Array:
    """Return the eigenvalues of a symmetric matrix in ascending order (Jacobi 1846)."""
    whole = matrix.astype(np.float64)
    n = len(whole)
    for _ in range(_SWEEPS):
        if np.abs(whole - np.diag(np.diagonal(whole))).max(initial=0) <= 1e-17 * np.abs(whole).max(initial=0):
            break
        for i in range(n):
            for j in range(i + 1, n):
                if whole[i, j] != 0:
                    turn = np.eye(n)
                    turn[np.ix_([i, j], [i, j])] = _rotation(whole[i, i], whole[j, j], whole[i, j])
                    whole = turn.T @ whole @ turn
    return np.sort(np.diagonal(whole))


def _rotation(a: float, b: float, c: float) -> Array:
    """Return the rotation that makes the symmetric matrix [[a, c], [c, b]] diagonal."""
    angle = 0.5 * math.atan2(2 * c, a - b)
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
