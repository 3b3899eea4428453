"""Gaussian elimination with row exchanges, in extended precision where the machine has one."""

from __future__ import annotations

import numpy as np

from netcalc.verification.references import Array


def eliminated(matrix: Array, sides: Array) -> tuple[Array, Array, float]:
    """Return an upper triangle and right sides of the same solutions, and the sign of the exchanges; 0 if singular."""
    upper, right = matrix.astype(np.longdouble), sides.astype(np.longdouble)
    sign = 1.0
    for k in range(len(upper)):
        pivot = k + int(np.argmax(np.abs(upper[k:, k])))
        if upper[pivot, k] == 0:
            return upper, right, 0.0
        if pivot != k:
            upper[[k, pivot]], right[[k, pivot]] = upper[[pivot, k]], right[[pivot, k]]
            sign = -sign
        for row in range(k + 1, len(upper)):
            factor = upper[row, k] / upper[k, k]
            upper[row, k:] -= factor * upper[k, k:]
            right[row] -= factor * right[k]
    return upper, right, sign


def solution(matrix: Array, sides: Array) -> Array:
    """Return the solution of matrix·X = sides; NaN for a singular matrix."""
    upper, right, sign = eliminated(matrix, sides)
    found = np.full_like(right, np.nan)
    if not sign:
        return found
    for k in range(len(upper) - 1, -1, -1):
        known = (upper[k, k + 1 :, None] * found[k + 1 :]).sum(0)
        found[k] = (right[k] - known) / upper[k, k]
    return found


def sensitivity(matrix: Array, found: Array, sides: Array) -> Array:
    """Return |A⁻¹|·(|A|·|X| + |B|), to which the rounding errors of a solution are proportional.

    Higham 2002, Accuracy and Stability of Numerical Algorithms, theorem 7.4.
    """
    inverse = np.abs(solution(matrix, np.eye(len(matrix))))
    wide = np.abs(matrix.astype(np.longdouble))
    result: Array = inverse @ (wide @ np.abs(found) + np.abs(sides.astype(np.longdouble)))
    return result
