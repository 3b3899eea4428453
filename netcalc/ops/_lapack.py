"""Work of LAPACK's routines, for one matrix: multiplications and additions.

The polynomials are those of Blackford & Dongarra 1999, Installation Guide for LAPACK (LAPACK Working Note 41), appendix
C.  Divisions and square roots are counted as multiplications there, subtractions as additions.
"""

from __future__ import annotations

from typing import NamedTuple

from netcalc.dims import Dim, at_least
from netcalc.opdef import Term

SOURCE = "Blackford & Dongarra 1999, LAPACK Working Note 41, appendix C"


class Routine(NamedTuple):
    """Multiplications and additions of a routine."""

    muls: Dim
    adds: Dim

    def terms(self, role: str, matrices: Dim) -> tuple[Term, Term]:
        """Return the work on a number of matrices."""
        return (
            Term.of("mul", role, matrices=matrices, each=self.muls),
            Term.of("add", role, matrices=matrices, each=self.adds),
        )


def getrf(n: Dim) -> Routine:
    """Return the work of the factorization P·L·U of an n×n matrix: 2n³/3 in leading order."""
    return Routine(n * (n * n + 2) // 3, n * (n - 1) * (2 * n - 1) // 6)


def getri(n: Dim) -> Routine:
    """Return the work of the inverse from P·L·U: 4n³/3 in leading order."""
    return Routine(n * (4 * n * n + 3 * n + 5) // 6, n * (n - 1) * (4 * n - 5) // 6)


def getrs(n: Dim, columns: Dim) -> Routine:
    """Return the work of solving with P·L·U: 2n² for each column."""
    return Routine(columns * n * n, columns * n * (n - 1))


def trtrs(n: Dim, columns: Dim, *, unit: bool = False) -> Routine:
    """Return the work of solving with a triangular matrix: n² for each column; with ones on its diagonal n fewer."""
    adds = columns * (n * (n - 1) // 2)
    return Routine(adds if unit else adds + columns * n, adds)


def potrf(n: Dim) -> Routine:
    """Return the work of the Cholesky factorization: n³/3 in leading order."""
    return Routine(n * (n + 1) * (n + 2) // 6, n * (n - 1) * (n + 1) // 6)


def geqrf(m: Dim, n: Dim) -> Routine:
    """Return the work of the reflections that give R: 2mn² − 2n³/3 in leading order for m ≥ n."""
    if at_least(m - n, 0):
        return Routine((n * (n * (3 - 2 * n + 6 * m) + 6 * m + 23)) // 6, (n * (n * (3 - 2 * n + 6 * m) + 5)) // 6)
    return Routine((m * (m * (6 * n - 2 * m - 3) + 12 * n + 23)) // 6, (m * (m * (6 * n - 2 * m - 3) + 6 * n + 5)) // 6)


def orgqr(m: Dim, k: Dim) -> Routine:
    """Return the work of the first k columns of Q from as many reflections: 2mk² − 2k³/3 in leading order."""
    return Routine(
        k * (6 * m * k + 6 * k - 5 + k * (2 * k - 3 * (m + k) - 3)) // 3,
        k * (6 * m * k + 3 * k - 3 * m + 1 + k * (2 * k - 3 * (m + k))) // 3,
    )


def halves(flops: Dim) -> Routine:
    """Return work of which half are multiplications, as in products and reflections; one more where it is odd."""
    return Routine(flops - flops // 2, flops // 2)
