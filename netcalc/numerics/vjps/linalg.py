"""Products of :mod:`netcalc.ops.linalg`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like
from netcalc.numerics.kernels._lapack import inverted, solved, solved_triangular
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.linalg import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular


def transposed(x: Array) -> Array:
    """Return the matrices transposed."""
    return np.swapaxes(x, -1, -2)


@vjp("inv")
def inv(op: Inv, back: Back, gradient: Array) -> Gradients:
    inverse = transposed(back.saved["result"])
    return {0: -np.matmul(inverse, np.matmul(gradient, inverse))}


@vjp("det")
def det(op: Det, back: Back, gradient: Array) -> Gradients:
    inverse = like(gradient, inverted("the gradient of det", transposed(back.saved["self"]), back.note))
    return {0: (gradient * back.saved["result"])[..., None, None] * inverse}


@vjp("slogdet")
def slogdet(op: Slogdet, back: Back, sign: None, gradient: Array) -> Gradients:
    inverse = like(gradient, inverted("the gradient of slogdet", transposed(back.saved["self"]), back.note))
    return {0: gradient[..., None, None] * inverse}


@vjp("cholesky")
def cholesky(op: Cholesky, back: Back, gradient: Array) -> Gradients:
    factor, g = back.saved["result"], gradient
    if op.upper:
        factor, g = transposed(factor), transposed(g)
    inner = like(g, np.tril(np.matmul(transposed(factor), g)))
    places = np.arange(factor.shape[-1])
    inner[..., places, places] = inner[..., places, places] * 0.5
    upper = transposed(factor)
    symmetric = inner + transposed(inner)
    left = solved_triangular(upper, symmetric, back.note, upper=True)
    right = transposed(solved_triangular(upper, transposed(left), back.note, upper=True))
    return {0: like(g, right) * 0.5}


@vjp("solve")
def solve(op: Solve, back: Back, gradient: Array) -> Gradients:
    alone = _takes_vectors(back)
    g = gradient[..., None] if alone else gradient
    side = like(gradient, solved("the gradient of solve", transposed(back.saved["self"]), g, back.note))
    return _of_both(back, side, alone=alone)


@vjp("solve_triangular")
def solve_triangular(op: SolveTriangular, back: Back, gradient: Array) -> Gradients:
    flipped = transposed(back.saved["self"])
    side = solved_triangular(flipped, gradient, back.note, upper=not op.upper, unit=op.unitriangular)
    found = _of_both(back, like(gradient, side), alone=False)
    if 0 in found:
        keep = np.triu if op.upper else np.tril
        diagonal = (1 if op.upper else -1) * op.unitriangular
        found[0] = like(gradient, keep(np.asarray(found[0]), diagonal))
    return found


def _takes_vectors(back: Back) -> bool:
    """Return True if the right side held vectors."""
    x, other = back.shape(0), back.shape(1)
    return len(other) == 1 or (len(other) == len(x) - 1 and other == x[:-1])


def _of_both(back: Back, side: Array, *, alone: bool) -> Gradients:
    """Return the gradients of matrices and right sides from that of the right sides, before it is summed."""

    def of_matrices() -> Array:
        solution = back.saved["result"]
        outer = np.matmul(-side, transposed(solution[..., None] if alone else solution))
        return summed_to(outer, back.shape(0))

    return back.only({0: of_matrices, 1: lambda: summed_to(side[..., 0] if alone else side, back.shape(1))})
