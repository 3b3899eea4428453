"""Backward passes of :mod:`netcalc.ops.decomposition`, with the products of matrices that PyTorch runs.

QR: Walter & Lehmann 2013, Algorithmic differentiation of linear algebra functions with application in optimum
experimental design.  Singular values and eigenvalues: Giles 2008, Collected matrix derivative results for forward and
reverse mode algorithmic differentiation.  Pseudoinverses: Golub & Pereyra 1973, doi:10.1137/0710036.
"""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim, at_least, product
from netcalc.opdef import Kind, Term
from netcalc.ops._lapack import halves, trtrs
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.decomposition import QR, SVD, Eigh, Eigvalsh, Pinv, SVDVals, smaller, thin_svd


class _Work:
    """Terms of the work on matrices m×n, of which k is the smaller side."""

    def __init__(self, call: BackwardCall) -> None:
        x = call.input()
        self.matrices = product(x.shape[:-2])
        self.m, self.n, self.k = x.shape[-2], x.shape[-1], smaller(x)
        self.tall = at_least(self.m - self.n, 0)
        self.terms: list[Term] = []

    def multiply(self, rows: Dim, columns: Dim, inner: Dim) -> None:
        """Add a product of matrices."""
        sizes = {"rows": rows, "columns": columns, "inner": inner}
        self.terms.append(Term.of("mac", "product", matrices=self.matrices, **sizes))

    def each(self, kind: Kind, rows: Dim, columns: Dim, times: int = 1) -> None:
        """Add operations on each element of a matrix."""
        self.terms.append(Term.of(kind, "elements", matrices=self.matrices, rows=rows, columns=columns, times=times))


@backward("qr")
class QRBackward(Backward):
    """Products with Q and R, and substitution with the square part of R."""

    rule = (
        "for m ≥ n ∂L/∂A = (gQ + Q·sym)·R⁻ᵀ; sym is symmetric, with the upper triangle of gR·Rᵀ − Qᵀ·gQ",
        "for m < n ∂L/∂A = Q·gR + [Q·S·R₁⁻ᵀ, 0]; S is the strict lower triangle of M − Mᵀ, M = Qᵀ·gQ − gR·Rᵀ, "
        "and R₁ the first m columns of R",
    )

    def saves(self, op: QR, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_output("Q"), call.saved_output("R", 1))

    def cost(self, op: QR, call: BackwardCall) -> Sequence[Term]:
        work, (of_q, of_r) = _Work(call), call.given
        m, n, k = work.m, work.n, work.k
        if of_r:
            work.multiply(k, k, n)
        if of_q:
            work.multiply(k, k, m)
        if (of_q and of_r) or of_q == work.tall:  # a difference, or a sign
            work.each("add", k, k)
        work.each("add", k, k)
        work.multiply(m, k, k)
        if work.tall:
            work.each("add", m, k, times=int(of_q))
        elif of_r:
            work.multiply(m, n, k)
            work.each("add", m, k)
        return [*work.terms, *trtrs(k, m).terms("substitution", work.matrices)]


@backward("svd")
class SVDBackward(Backward):
    """Products with the vectors, of which those beyond the smaller side of the matrix have no gradient.

    Equal singular values have infinite gradients of their vectors.
    """

    rule = (
        "∂L/∂A = U·(skew(Uᵀ·gU)/E·S + S·skew(Vh·gVhᵀ)/E + diag(gS))·Vh, with E_ij = s_j² − s_i² off the diagonal",
        "+ (1 − U·Uᵀ)·gU·S⁻¹·Vh for m > n, + U·S⁻¹·gVh·(1 − Vhᵀ·Vh) for m < n",
    )

    def differs(self, op: SVD) -> str:
        return "vectors beyond the smaller side have no gradient" if op.full_matrices else ""

    def saves(self, op: SVD, call: BackwardCall) -> Sequence[Saved]:
        return tuple(call.saved_output(name, index) for index, name in enumerate(("U", "S", "Vh")))

    def cost(self, op: SVD, call: BackwardCall) -> Sequence[Term]:
        work, (of_u, of_s, of_v) = _Work(call), call.given
        m, n, k = work.m, work.n, work.k
        work.multiply(m, n, k)
        if not (of_u or of_v):
            work.each("mul", m, k)
            return work.terms
        work.each("mul", k, 1)
        work.each("add", k, k)
        for given, size in ((of_u, m), (of_v, n)):
            if given:
                work.multiply(k, k, size)
                for kind in ("add", "div", "mul"):
                    work.each(kind, k, k)
        work.each("add", k, k, times=int(of_u and of_v))
        work.each("add", k, 1, times=int(of_s))
        taller, wider = not at_least(n - m, 0), not work.tall
        size = m if (taller and of_u) or (wider and not of_v) else n
        work.multiply(size, k, k)
        if (taller and of_u) or (wider and of_v):
            work.each("div", size, k)
            work.multiply(k, k, size)
            work.multiply(size, k, k)
            work.each("add", size, k, times=2)
        return work.terms


@backward("svdvals")
class SVDValsBackward(Backward):
    """The vectors, computed anew, and a product of them."""

    rule = ("∂L/∂A = U·diag(g)·Vh",)
    saved = ("self",)

    def cost(self, op: SVDVals, call: BackwardCall) -> Sequence[Term]:
        work = _Work(call)
        work.terms += thin_svd(call.input()).terms("iteration", work.matrices)
        work.each("mul", work.m, work.k)
        work.multiply(work.m, work.n, work.k)
        return work.terms


@backward("eigh")
class EighBackward(Backward):
    """Products with the eigenvectors; equal eigenvalues have infinite gradients of their vectors.

    The gradient is symmetric: that of the matrix as a symmetric one.
    """

    rule = ("∂L/∂A = V·(diag(g_values) + ½·skew(Vᵀ·g_vectors)/D)·Vᵀ, with D_ij = λ_j − λ_i off the diagonal",)
    symmetric = True

    def saves(self, op: Eigh, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_output("eigenvalues"), call.saved_output("eigenvectors", 1))

    def cost(self, op: Eigh, call: BackwardCall) -> Sequence[Term]:
        work, (_, of_vectors) = _Work(call), call.given
        n = work.n
        work.multiply(n, n, n)
        if not of_vectors:
            work.each("mul", n, n)
            return work.terms
        work.each("add", n, n, times=2)
        work.each("mul", n, n)
        work.each("div", n, n)
        work.multiply(n, n, n)
        work.multiply(n, n, n)
        return work.terms


@backward("eigvalsh")
class EigvalshBackward(Backward):
    """The eigenvectors, computed anew, and a product of them."""

    rule = ("∂L/∂A = V·diag(g)·Vᵀ",)
    symmetric = True
    saved = ("self",)

    def cost(self, op: Eigvalsh, call: BackwardCall) -> Sequence[Term]:
        work = _Work(call)
        n = work.n
        work.terms += halves(9 * n * n * n).terms("iteration", work.matrices)
        work.each("mul", n, n)
        work.multiply(n, n, n)
        return work.terms


@backward("pinv")
class PinvBackward(Backward):
    """Eight products with the matrix and its pseudoinverse P."""

    rule = ("∂L/∂A = −(P·gᵀ·P)ᵀ + (1 − A·P)·gᵀ·P·Pᵀ + Pᵀ·P·gᵀ·(1 − P·A)",)

    def differs(self, op: Pinv) -> str:
        return "" if op.atol is None and op.rtol is None else "singular values that are left out have gradients too"

    def saves(self, op: Pinv, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("self"), call.saved_output("result"))

    def cost(self, op: Pinv, call: BackwardCall) -> Sequence[Term]:
        work = _Work(call)
        m, n, k = work.m, work.n, work.k
        for _ in range(4):
            work.multiply(m, n, k)
            work.multiply(m, n, m)  # k is m, unless there are more rows than columns
        work.each("add", m, n, times=5)
        return work.terms
