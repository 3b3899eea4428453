"""Backward passes of :mod:`netcalc.ops.linalg`.

The derivatives are those of Giles 2008, Collected matrix derivative results for forward and reverse mode algorithmic
differentiation, §2.
"""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.opdef import Term
from netcalc.ops._lapack import getrf, getri, getrs, trtrs
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._broadcast import summing
from netcalc.ops.linalg import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular


@backward("inv")
class InvBackward(Backward):
    """Two products with the inverse."""

    rule = ("∂L/∂A = −Yᵀ·g·Yᵀ",)
    saved = ("result",)

    def cost(self, op: Inv, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        matrices, n = op.size(x)
        return (
            Term.of("mac", "products with the inverse", matrices=matrices, products=2, rows=n, columns=n, inner=n),
            Term.of("add", "sign", elements=x.elements),
        )


@backward("det")
class DetBackward(Backward):
    """The inverse of the matrix, computed anew, times the determinant.

    A run with a singular matrix ends with an error.
    """

    rule = ("∂L/∂A = g·y·A⁻ᵀ",)
    saved = ("self", "result")

    def cost(self, op: Det, call: BackwardCall) -> Sequence[Term]:
        matrices, n = op.size(call.input())
        return (
            *_inverse(op, call),
            Term.of("mul", "gradient by determinant", matrices=matrices),
            Term.of("mul", "scale", matrices=matrices, rows=n, columns=n),
        )


@backward("slogdet")
class SlogdetBackward(Backward):
    """The inverse of the matrix, computed anew; the sign has no gradient.

    A run with a singular matrix ends with an error.
    """

    rule = ("∂L/∂A = g·A⁻ᵀ, g being the gradient of logabsdet",)
    saved = ("self",)

    def differentiable(self, op: Slogdet, call: BackwardCall) -> tuple[bool, ...]:
        return (False, True)

    def cost(self, op: Slogdet, call: BackwardCall) -> Sequence[Term]:
        return *_inverse(op, call), Term.of("mul", "scale", elements=call.input().elements)


def _inverse(op: Det | Slogdet, call: BackwardCall) -> Sequence[Term]:
    matrices, n = op.size(call.input())
    return *getrf(n).terms("factorization", matrices), *getri(n).terms("inverse", matrices)


@backward("cholesky")
class CholeskyBackward(Backward):
    """A product with the factor, of which the lower triangle is kept, and two substitutions.

    The gradient is symmetric: that of the matrix as a symmetric one.
    """

    rule = ("∂L/∂A = ½·L⁻ᵀ·(P + Pᵀ)·L⁻¹, P being the lower triangle of Lᵀ·g with half its diagonal",)
    saved = ("result",)
    symmetric = True

    def cost(self, op: Cholesky, call: BackwardCall) -> Sequence[Term]:
        matrices, n = op.size(call.input())
        elements = call.input().elements
        return (
            Term.of("mac", "product with the factor", matrices=matrices, rows=n, columns=n, inner=n),
            Term.of("mul", "half the diagonal", matrices=matrices, n=n),
            Term.of("add", "symmetric sum", elements=elements),
            *trtrs(n, n).terms("first substitution", matrices),
            *trtrs(n, n).terms("second substitution", matrices),
            Term.of("mul", "half", elements=elements),
        )


class _EquationsBackward(Backward):
    rule = ("∂L/∂B = A⁻ᵀ·g", "∂L/∂A = −∂L/∂B·Xᵀ", "both summed over the batches along which they were broadcast")

    def saves(self, op: Solve | SolveTriangular, call: BackwardCall) -> Sequence[Saved]:
        result = [call.saved_output("result")] if call.wants(0) else []
        return (call.saved_input("self"), *result)

    def outer(self, op: Solve | SolveTriangular, call: BackwardCall) -> Sequence[Term]:
        """Return the work after that of the gradient of the right side."""
        x, other, output = call.input(0), call.input(1), call.outputs[0]
        batch, n, columns = op.sizes(x, other)
        work: list[Term] = []
        if call.wants(0):
            whole = x.with_shape(*batch, n, n)
            work += [
                Term.of("add", "sign", elements=output.elements),
                Term.of("mac", "product with the solution", matrices=product(batch), rows=n, columns=n, inner=columns),
                *summing(whole, x),
            ]
        if call.wants(1):
            work += summing(output, other)
        return work


@backward("solve")
class SolveBackward(_EquationsBackward):
    """Equations with the transposed matrices, factorized anew, and a product with the solution."""

    def cost(self, op: Solve, call: BackwardCall) -> Sequence[Term]:
        batch, n, columns = op.sizes(call.input(0), call.input(1))
        matrices = product(batch)
        return (
            *getrf(n).terms("factorization", matrices),
            *getrs(n, columns).terms("substitution", matrices),
            *self.outer(op, call),
        )


@backward("solve_triangular")
class SolveTriangularBackward(_EquationsBackward):
    """Equations with the transposed triangles, and a product with the solution, of which a triangle is kept."""

    def cost(self, op: SolveTriangular, call: BackwardCall) -> Sequence[Term]:
        batch, n, columns = op.sizes(call.input(0), call.input(1))
        substitution = trtrs(n, columns, unit=op.unitriangular).terms("substitution", product(batch))
        return *substitution, *self.outer(op, call)
