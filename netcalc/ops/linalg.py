"""Inverses, determinants and systems of linear equations."""

from collections.abc import Sequence

from netcalc.dims import Dim, equal, product
from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr, ports, same_shape
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops._lapack import SOURCE, getrf, getri, getrs, potrf, trtrs
from netcalc.tensor_type import TensorType

_LAPACK = "a routine of LAPACK: a single NumPy call"


def require_matrices(x: TensorType, what: str) -> None:
    """Raise RuleError unless ``x`` holds matrices in single or double precision, as LAPACK takes them."""
    if x.dtype not in ("float32", "float64"):
        hint = "cast it to float32 first"
        raise RuleError(f"{what} takes float32 and float64, and its input is {x.dtype}", code="E402", hint=hint)
    if x.rank < 2:
        raise RuleError(f"{what} takes matrices, an input of at least 2 dimensions, and this one has {x.rank}: {x}")


def require_square(x: TensorType, what: str) -> None:
    """Raise RuleError unless ``x`` holds square matrices in single or double precision."""
    require_matrices(x, what)
    if not equal(x.shape[-1], x.shape[-2]):
        raise RuleError(f"{what} takes square matrices, and these are {x.shape[-2]}×{x.shape[-1]}: {x}")


class _OfSquare(Operation):
    """Base of operations on square matrices; the axes before the last two are batch axes."""

    kernel_suffices = _LAPACK
    example = Example(((2, 3, 3),))

    def size(self, x: TensorType) -> tuple[Dim, Dim]:
        """Return the number of matrices, and of their rows."""
        return product(x.shape[:-2]), x.shape[-1]


@operation
class Inv(_OfSquare):
    """The inverses of square matrices.

    A run with a singular matrix ends with an error.
    """

    name = "inv"
    reference = f"torch.linalg.inv; work: getrf and getri of {SOURCE}"
    shape_rule = "(…, n, n) → (…, n, n)"
    cost_rule = "n³ + n²/2 + 3n/2 muls and n³ − 2n² + n adds for each matrix"
    usage = (
        "points: [32, 4, 100]",
        "poses: [32, 4, 4]",
        "- {from: poses, inv: {}}",
        "- {from: [_, points], matmul: {}}",
    )

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_square(x, "inv")
        return x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        matrices, n = self.size(inputs[0])
        return *getrf(n).terms("factorization", matrices), *getri(n).terms("inverse", matrices)


@operation
class Det(_OfSquare):
    """The determinants of square matrices: the product of the diagonal of U in A = P·L·U, with the sign of P."""

    name = "det"
    reference = f"torch.linalg.det; work: getrf of {SOURCE}"
    shape_rule = "(…, n, n) → (…)"
    cost_rule = "n³/3 + 2n/3 muls and n³/3 − n²/2 + n/6 adds for each matrix, and n − 1 muls"
    usage = ("rotations: [32, 3, 3]", "- det")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_square(x, "det")
        return x.with_shape(*x.shape[:-2])

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        matrices, n = self.size(inputs[0])
        diagonal = Term.of("mul", "product of the diagonal", matrices=matrices, others=n - 1)
        return *getrf(n).terms("factorization", matrices), diagonal


@operation
class Slogdet(_OfSquare):
    """The signs of the determinants of square matrices, and the logarithms of their magnitudes.

    The sign of a singular matrix is 0, and the logarithm −∞.
    """

    name = "slogdet"
    outputs = ports("sign", "logabsdet")
    reference = f"torch.linalg.slogdet; work: getrf of {SOURCE}"
    shape_rule = "(…, n, n) → (…) and (…)"
    cost_rule = (
        "n³/3 + 2n/3 muls and n³/3 − n²/2 + n/6 adds for each matrix; for the diagonal n comparisons, n logarithms and "
        "n − 1 adds"
    )
    usage = ("weight: [48, 48]", "- {slogdet: {}, as: [sign, logdet]}")

    def infer(self, ctx: Context, x: TensorType) -> tuple[TensorType, TensorType]:
        require_square(x, "slogdet")
        each = x.with_shape(*x.shape[:-2])
        return each, each

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        matrices, n = self.size(inputs[0])
        return (
            *getrf(n).terms("factorization", matrices),
            Term.of("compare", "signs", matrices=matrices, n=n),
            Term.of("transcendental", "logarithms", matrices=matrices, n=n),
            Term.of("add", "sum of logarithms", matrices=matrices, others=n - 1),
        )


@operation
class Cholesky(_OfSquare):
    """The Cholesky factors of symmetric positive definite matrices: A = L·Lᵀ, of which L is lower triangular.

    Only the lower triangle of A is read.  A run with a matrix that is not positive definite ends with an error.
    """

    name = "cholesky"
    reference = f"torch.linalg.cholesky; work: potrf of {SOURCE}"
    shape_rule = "(…, n, n) → (…, n, n)"
    cost_rule = "n³/6 + n²/2 + n/3 muls and n³/6 − n/6 adds for each matrix"
    example = Example(((3, 3),))
    usage = (
        "factors: [32, 8, 16]",
        "noise: [32, 8]",
        '- {from: [factors, factors], einsum: "bik,bjk->bij"}',
        "- {name: covariance, cholesky: {}}",
        '- {from: [covariance, noise], einsum: "bij,bj->bi"}',
    )

    upper: bool = attr("return Lᵀ, and read the upper triangle", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_square(x, "cholesky")
        return x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        matrices, n = self.size(inputs[0])
        return potrf(n).terms("factorization", matrices)


class _Equations(Operation):
    """Base of solutions X of A·X = B; the batch axes of both broadcast."""

    kernel_suffices = _LAPACK
    inputs = ports("input", "other")
    example = Example(((2, 3, 3), (2, 3, 2)))

    def takes_vectors(self, x: TensorType, other: TensorType) -> bool:
        """Return True if B holds a vector for each matrix, which PyTorch decides by the shapes."""
        return other.rank == 1 or (other.rank == x.rank - 1 and same_shape(other.shape, x.shape[:-1]))

    def sizes(self, x: TensorType, other: TensorType) -> tuple[tuple[Dim, ...], Dim, Dim]:
        """Return the batch axes, the number of equations, and of columns of B."""
        alone = self.takes_vectors(x, other)
        rows = other.shape if alone else other.shape[:-1]
        batch = broadcast(self.name, [x.shape[:-2], rows[:-1]])
        return batch, x.shape[-1], 1 if alone else other.shape[-1]

    def infer(self, ctx: Context, x: TensorType, other: TensorType) -> TensorType:
        require_square(x, self.name)
        if other.dtype != x.dtype:
            message = f"{self.name} takes inputs of one type, and these are {x.dtype} and {other.dtype}"
            raise RuleError(message, code="E402", hint="cast one of them")
        if not other.rank:
            raise RuleError(f"{self.name} takes a second input of at least 1 dimension, and it is a scalar")
        alone = self.takes_vectors(x, other)
        rows = other.shape[-1 if alone else -2]
        if not equal(rows, x.shape[-1]):
            raise RuleError(f"{self.name}: {x.shape[-1]} equations, and the second input has {rows} rows: {x}, {other}")
        batch, n, _ = self.sizes(x, other)
        return x.with_shape(*batch, n, *(() if alone else other.shape[-1:]))


@operation
class Solve(_Equations):
    """The solutions X of systems of linear equations A·X = B, with square matrices A.

    B holds vectors if it has one axis, or the axes of A without the last.  A run with a singular matrix ends with an
    error.
    """

    name = "solve"
    reference = f"torch.linalg.solve; work: getrf and getrs of {SOURCE}"
    shape_rule = "(…, n, n) and (…, n, columns) → (…, n, columns), or (…, n, n) and (…, n) → (…, n)"
    cost_rule = (
        "n³/3 + 2n/3 muls and n³/3 − n²/2 + n/6 adds for each matrix, and n² muls and n² − n adds for each column of B"
    )
    usage = ("matrices: [32, 16, 16]", "targets: [32, 16, 4]", "- {from: [matrices, targets], solve: {}}")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, n, columns = self.sizes(*inputs)
        matrices = product(batch)
        return *getrf(n).terms("factorization", matrices), *getrs(n, columns).terms("substitution", matrices)


@operation
class SolveTriangular(_Equations):
    """The solutions X of A·X = B, with lower triangular matrices A; B is never a vector.

    The other triangle is not read.  A zero on the diagonal gives infinities and NaN.
    """

    name = "solve_triangular"
    kernel_suffices = "substitution: products of matrices in BLAS"
    reference = f"torch.linalg.solve_triangular; work: trtrs of {SOURCE}"
    shape_rule = "(…, n, n) and (…, n, columns) → (…, n, columns)"
    cost_rule = "n²/2 + n/2 muls, with unitriangular n²/2 − n/2, and n²/2 − n/2 adds for each column of each matrix"
    usage = (
        "factors: [32, 16, 16]",
        "targets: [32, 16, 4]",
        "- {from: [factors, targets], solve_triangular: {upper: true}}",
    )

    upper: bool = attr("A is upper triangular", default=False)
    unitriangular: bool = attr("take the diagonal of A as ones", default=False)

    def takes_vectors(self, x: TensorType, other: TensorType) -> bool:
        return False

    def infer(self, ctx: Context, x: TensorType, other: TensorType) -> TensorType:
        if other.rank < 2:
            raise RuleError(f"solve_triangular takes a second input of at least 2 dimensions, and it is {other}")
        return super().infer(ctx, x, other)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, n, columns = self.sizes(*inputs)
        return trtrs(n, columns, unit=self.unitriangular).terms("substitution", product(batch))
