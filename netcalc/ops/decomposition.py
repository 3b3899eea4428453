"""Orthogonal decompositions of matrices: QR, singular values and vectors, eigenvalues and eigenvectors."""

from collections.abc import Sequence

from netcalc.dims import Dim, equal, maximum, minimum, product
from netcalc.opdef import Context, Example, Operation, Term, attr, ports
from netcalc.ops import operation
from netcalc.ops._lapack import SOURCE, Routine, geqrf, halves, orgqr
from netcalc.ops.linalg import require_matrices, require_square
from netcalc.tensor_type import TensorType

_LAPACK = "a routine of LAPACK: a single NumPy call"
_SVD = "Golub & Van Loan 2013, Matrix Computations, §8.6, fig. 8.6.1 (Golub–Reinsch)"
_QR_ITERATION = "Golub & Van Loan 2013, Matrix Computations, §8.3.3"


class _Decomposition(Operation):
    """Base of decompositions; the axes before the last two are batch axes."""

    kernel_suffices = _LAPACK
    example = Example(((2, 4, 3),))

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        require_matrices(x, self.name)
        return self.parts(x)

    def parts(self, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        """Return the types of the factors."""
        raise NotImplementedError(self.name)

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        """Return the work on one matrix, by its parts."""
        raise NotImplementedError(self.name)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        matrices = product(inputs[0].shape[:-2])
        return [term for role, work in self.routine(inputs[0]) for term in work.terms(role, matrices)]


def smaller(x: TensorType) -> Dim:
    """Return the smaller one of the numbers of rows and of columns."""
    return minimum(x.shape[-2], x.shape[-1])


@operation
class QR(_Decomposition):
    """A = Q·R: Q has orthonormal columns, as many as the smaller side of A, and R is upper triangular.

    The signs are those of LAPACK, whose reflections give each diagonal element of R the sign that its column has not.
    """

    name = "qr"
    outputs = ports("q", "r")
    reference = f"torch.linalg.qr; work: geqrf and orgqr of {SOURCE}"
    shape_rule = "(…, m, n) → q (…, m, k) and r (…, k, n), k being the smaller of m and n"
    cost_rule = (
        "for m ≥ n about 2mn² − 2n³/3 for R and as much for Q, by the exact polynomials of the source, for each matrix"
    )
    usage = ("directions: [32, 64, 8]", "- {qr: {}, as: [basis, r]}")

    def parts(self, x: TensorType) -> tuple[TensorType, ...]:
        rows, columns = x.shape[-2:]
        return x.with_shape(*x.shape[:-2], rows, smaller(x)), x.with_shape(*x.shape[:-2], smaller(x), columns)

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        rows, columns = x.shape[-2:]
        return ("factorization", geqrf(rows, columns)), ("orthogonal factor", orgqr(rows, smaller(x)))


def thin_svd(x: TensorType) -> Routine:
    """Return the work of singular values, and of as many vectors on both sides: 14mn² + 8n³ for m ≥ n."""
    n, m = smaller(x), maximum(x.shape[-2], x.shape[-1])
    return halves(14 * m * n * n + 8 * n * n * n)


@operation
class SVD(_Decomposition):
    """A = U·diag(S)·Vh: singular values in descending order, and orthonormal vectors in columns of U and rows of Vh.

    The signs of the vectors are those of LAPACK, and mean nothing.  The work is that of the iteration of Golub and
    Reinsch in leading order, half of it multiplications; it depends little on the data.
    """

    name = "svd"
    outputs = ports("u", "s", "vh")
    reference = f"torch.linalg.svd; work: {_SVD}"
    shape_rule = "(…, m, n) → u (…, m, k), s (…, k) and vh (…, k, n), k being the smaller of m and n"
    cost_rule = "for m ≥ n 14mn² + 8n³ for each matrix; with full_matrices 4m²n + 8mn² + 9n³ unless m = n"
    usage = ("covariance: [32, 3, 3]", "- {svd: {}, as: [u, s, vh]}", "- {from: [u, vh], matmul: {}}")

    full_matrices: bool = attr("return square matrices u and vh, with further vectors", default=False)

    def parts(self, x: TensorType) -> tuple[TensorType, ...]:
        *batch, rows, columns = x.shape
        k = smaller(x)
        left, right = (rows, columns) if self.full_matrices else (k, k)
        return x.with_shape(*batch, rows, left), x.with_shape(*batch, k), x.with_shape(*batch, right, columns)

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        n, m = smaller(x), maximum(x.shape[-2], x.shape[-1])
        if not self.full_matrices or equal(m, n):
            return (("iteration", thin_svd(x)),)
        return (("iteration", halves(4 * m * m * n + 8 * m * n * n + 9 * n * n * n)),)


@operation
class SVDVals(_Decomposition):
    """The singular values of matrices, in descending order."""

    name = "svdvals"
    reference = f"torch.linalg.svdvals; work: {_SVD}"
    shape_rule = "(…, m, n) → (…, k), k being the smaller of m and n"
    cost_rule = "for m ≥ n 4mn² − 4n³/3, rounded down, for each matrix"
    usage = ("weight: [64, 32]", "- svdvals", "- {max: 0}")

    def parts(self, x: TensorType) -> TensorType:
        return x.with_shape(*x.shape[:-2], smaller(x))

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        n, m = smaller(x), maximum(x.shape[-2], x.shape[-1])
        return (("iteration", halves(4 * n * n * (3 * m - n) // 3)),)


class _Symmetric(_Decomposition):
    """Base of decompositions of symmetric matrices, of which one triangle is read."""

    example = Example(((2, 3, 3),))

    upper: bool = attr("read the upper triangle; otherwise the lower one", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType | tuple[TensorType, ...]:
        require_square(x, self.name)
        return self.parts(x)


@operation
class Eigh(_Symmetric):
    """A = V·diag(values)·Vᵀ for symmetric matrices: eigenvalues in ascending order, and orthonormal eigenvectors.

    The signs of the vectors are those of LAPACK, and mean nothing.  The work is that of the symmetric QR iteration in
    leading order, half of it multiplications; it depends little on the data.
    """

    name = "eigh"
    outputs = ports("values", "vectors")
    reference = f"torch.linalg.eigh; work: {_QR_ITERATION}"
    shape_rule = "(…, n, n) → values (…, n) and vectors (…, n, n)"
    cost_rule = "9n³ for each matrix"
    usage = ("covariance: [32, 3, 3]", "- {eigh: {}, as: [values, vectors]}")

    def parts(self, x: TensorType) -> tuple[TensorType, ...]:
        return x.with_shape(*x.shape[:-1]), x

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        n = x.shape[-1]
        return (("iteration", halves(9 * n * n * n)),)


@operation
class Eigvalsh(_Symmetric):
    """The eigenvalues of symmetric matrices, in ascending order."""

    name = "eigvalsh"
    reference = f"torch.linalg.eigvalsh; work: {_QR_ITERATION}"
    shape_rule = "(…, n, n) → (…, n)"
    cost_rule = "4n³/3, rounded down, for each matrix"
    usage = ("laplacian: [32, 20, 20]", "- eigvalsh")

    def parts(self, x: TensorType) -> TensorType:
        return x.with_shape(*x.shape[:-1])

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        n = x.shape[-1]
        return (("iteration", halves(4 * n * n * n // 3)),)


@operation
class Pinv(_Decomposition):
    """The pseudoinverses of matrices: V·diag(1/S)·Uᵀ, without singular values that are almost 0.

    Those are left out that are at most ``atol`` or at most ``rtol`` times the largest one.
    """

    name = "pinv"
    reference = f"torch.linalg.pinv; work: {_SVD}"
    shape_rule = "(…, m, n) → (…, n, m)"
    cost_rule = "that of svd, and for each matrix k comparisons, k divisions, kn muls, and mnk muls and mn(k − 1) adds"
    usage = (
        "features: [100, 8]",
        "targets: [100, 1]",
        "- {from: features, pinv: {}}",
        "- {from: [_, targets], matmul: {}}",
    )

    rtol: float | None = attr(
        "relative bound; by default the larger side times the machine epsilon", default=None, ge=0
    )
    atol: float = attr("absolute bound", default=0.0, ge=0)

    def parts(self, x: TensorType) -> TensorType:
        return x.with_shape(*x.shape[:-2], x.shape[-1], x.shape[-2])

    def routine(self, x: TensorType) -> Sequence[tuple[str, Routine]]:
        m, n, k = *x.shape[-2:], smaller(x)
        return ("iteration", thin_svd(x)), ("product", Routine(k * n + m * n * k, m * n * (k - 1)))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        sizes = {"matrices": product(x.shape[:-2]), "values": smaller(x)}
        return (
            *super().cost(ctx, inputs, outputs),
            Term.of("mul", "bound", matrices=sizes["matrices"]),
            Term.of("compare", "with the bound", **sizes),
            Term.of("div", "reciprocals", **sizes),
        )
