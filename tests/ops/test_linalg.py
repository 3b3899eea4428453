"""Inverses, determinants and systems of linear equations: results by hand, work, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.numerics.kernels import Run, apply
from netcalc.opdef import Context, RuleError
from netcalc.ops import find
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute

MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


def test_results_by_hand() -> None:
    (inverse,) = execute("inv", {}, MATRIX).outputs
    np.testing.assert_allclose(inverse, [[0.6, -0.2], [-0.2, 0.4]], atol=1e-15)
    assert execute("det", {}, MATRIX).outputs[0] == pytest.approx(5.0)
    sign, logarithm = execute("slogdet", {}, -MATRIX[:1, :1]).outputs
    assert (sign, logarithm) == (-1.0, pytest.approx(np.log(2)))
    (lower,) = execute("cholesky", {}, np.array([[4.0, 0.0], [2.0, 10.0]])).outputs
    np.testing.assert_allclose(lower, [[2, 0], [1, 3]])
    (solution,) = execute("solve", {}, MATRIX, np.array([3.0, 4.0])).outputs
    np.testing.assert_allclose(solution, [1, 1])


def test_a_singular_matrix_has_the_determinant_0() -> None:
    for name, expected in (("det", [0.0]), ("slogdet", [0.0, -np.inf])):
        declared = find(name)
        assert declared is not None
        assert list(map(float, apply(declared(), Run(), (SINGULAR,), {}))) == expected
        with pytest.raises(RuleError, match=f"gradient of {name}: a matrix is singular"):
            execute(name, {}, SINGULAR)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 40])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles_of_any_size(n: int, upper: bool, unit: bool) -> None:
    rng = np.random.default_rng(n)
    matrices = rng.normal(size=(2, n, n)) / n + 2 * np.eye(n)
    execute("solve_triangular", {"upper": upper, "unitriangular": unit}, matrices, rng.normal(size=(n, 3)))


def work(name: str, *shapes: tuple[int, ...], **attrs: Any) -> dict[str, int]:
    declared = find(name)
    assert declared is not None
    op, types = declared(**attrs), [TensorType(shape) for shape in shapes]
    outputs = op.infer(Context(), *types)
    counted: dict[str, int] = {}
    for term in op.cost(Context(), types, outputs if isinstance(outputs, tuple) else (outputs,)):
        counted[term.kind] = counted.get(term.kind, 0) + int(term.count)
    return counted


def test_work_by_leading_terms() -> None:
    """Golub & Van Loan 2013, Matrix Computations, §3.2, §4.2 and §3.1: flops of large matrices."""
    n = 300
    for name, shapes, flops in (
        ("inv", [(n, n)], 2 * n**3),
        ("det", [(n, n)], 2 * n**3 / 3),
        ("slogdet", [(n, n)], 2 * n**3 / 3),
        ("cholesky", [(n, n)], n**3 / 3),
        ("solve", [(n, n), (n, n)], 2 * n**3 / 3 + 2 * n**3),
        ("solve_triangular", [(n, n), (n, n)], n**3),
    ):
        assert sum(work(name, *shapes).values()) == pytest.approx(flops, rel=0.01), name


def test_work_of_small_matrices_by_hand() -> None:
    # 2×2: a reciprocal for either pivot, a factor, and one update; then the product of the diagonal
    assert work("det", (2, 2)) == {"mul": 5, "add": 1}
    # 2×2: two roots, two reciprocals as in LAPACK's count, a factor less than that, and one update
    assert work("cholesky", (2, 2)) == {"mul": 4, "add": 1}
    assert work("solve_triangular", (5, 3, 3), (3, 2)) == {"mul": 5 * 2 * 6, "add": 5 * 2 * 3}


@pytest.mark.parametrize(
    "name,arrays,reason",
    [
        ("inv", [SINGULAR], "singular"),
        ("solve", [SINGULAR, np.ones(2)], "singular"),
        ("cholesky", [-MATRIX], "not positive definite"),
    ],
)
def test_a_run_refuses_matrices_without_a_result(name: str, arrays: list[np.ndarray], reason: str) -> None:
    with pytest.raises(RuleError, match=reason) as caught:
        execute(name, {}, *arrays)
    assert caught.value.code == "E602"


@pytest.mark.parametrize(
    "name,shapes,reason",
    [
        ("inv", [(2, 3)], "square"),
        ("det", [(3,)], "at least 2"),
        ("solve", [(3, 3), (2, 2)], "3 equations"),
        ("solve", [(2, 3, 3), (4, 3, 1)], "broadcast"),
        ("solve_triangular", [(3, 3), (3,)], "at least 2"),
    ],
)
def test_shapes_that_do_not_fit(name: str, shapes: list[tuple[int, ...]], reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        execute(name, {}, *(np.ones(shape) for shape in shapes))


def test_half_precision_is_refused_as_by_lapack() -> None:
    with pytest.raises(RuleError, match="float32 and float64") as caught:
        execute("inv", {}, np.eye(2, dtype=np.float16))
    assert caught.value.code == "E402"
