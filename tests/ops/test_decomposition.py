"""Orthogonal decompositions: factors that give the matrix, results by hand, work, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.opdef import RuleError
from tests.ops.harness import execute
from tests.ops.test_linalg import work

SHAPES = [(1, 1), (4, 4), (5, 3), (3, 5), (2, 3, 6, 2), (2, 2, 6)]


def drawn(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def assert_orthonormal(columns: np.ndarray, tolerance: float) -> None:
    identity = np.broadcast_to(np.eye(columns.shape[-1]), (*columns.shape[:-2], *[columns.shape[-1]] * 2))
    np.testing.assert_allclose(columns.swapaxes(-1, -2) @ columns, identity, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype,tolerance", [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_factors_give_the_matrix(shape: tuple[int, ...], dtype: Any, tolerance: float) -> None:
    x = drawn(*shape, dtype=dtype)
    q, r = execute("qr", {}, x).outputs
    np.testing.assert_allclose(q @ r, x, atol=tolerance)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    for full in (False, True):
        u, s, vh = execute("svd", {"full_matrices": full}, x).outputs
        k = s.shape[-1]
        np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, atol=tolerance)
        assert (np.diff(s) <= 0).all() and (s >= 0).all()
        for columns in (q, u, vh.swapaxes(-1, -2)):
            assert_orthonormal(columns, tolerance)
    np.testing.assert_allclose(execute("svdvals", {}, x).outputs[0], s, atol=tolerance)
    (inverse,) = execute("pinv", {}, x).outputs
    np.testing.assert_allclose(x @ inverse @ x, x, atol=10 * tolerance)
    np.testing.assert_allclose(inverse @ x @ inverse, inverse, atol=10 * tolerance)


@pytest.mark.parametrize("upper", [False, True])
def test_eigenvectors(upper: bool) -> None:
    x = drawn(2, 4, 4)
    triangle = np.triu(x) if upper else np.tril(x)
    whole = triangle + triangle.swapaxes(-1, -2) - np.eye(4) * x
    values, vectors = execute("eigh", {"upper": upper}, x).outputs
    np.testing.assert_allclose(whole @ vectors, vectors * values[:, None, :], atol=1e-12)
    assert_orthonormal(vectors, 1e-12)
    np.testing.assert_allclose(execute("eigvalsh", {"upper": upper}, x).outputs[0], values, atol=1e-12)


def test_results_by_hand() -> None:
    assert execute("svdvals", {}, np.array([[3.0, 0.0], [0.0, -4.0]])).outputs[0].tolist() == [4, 3]
    np.testing.assert_allclose(execute("eigvalsh", {}, np.array([[2.0, 9.0], [1.0, 2.0]])).outputs[0], [1, 3])
    (inverse,) = execute("pinv", {}, np.array([[2.0, 0.0], [0.0, 1e-20], [0.0, 0.0]])).outputs
    np.testing.assert_allclose(inverse, [[0.5, 0, 0], [0, 0, 0]])
    (inverse,) = execute("pinv", {"rtol": 0.3, "atol": 0.5}, np.diag([4.0, 1.0])).outputs
    np.testing.assert_allclose(inverse, [[0.25, 0], [0, 0]])


def test_work_by_leading_terms() -> None:
    """Golub & Van Loan 2013, §5.2.2, §8.3.3 and §8.6: flops of large matrices."""
    m, n = 900, 300
    for name, shape, flops in (
        ("qr", (m, n), 2 * (2 * m * n**2 - 2 * n**3 / 3)),
        ("qr", (n, m), 2 * (m * n**2 - n**3 / 3) + 4 * n**3 / 3),
        ("svd", (m, n), 14 * m * n**2 + 8 * n**3),
        ("svdvals", (n, m), 4 * m * n**2 - 4 * n**3 / 3),
        ("eigh", (n, n), 9 * n**3),
        ("eigvalsh", (n, n), 4 * n**3 / 3),
        ("pinv", (m, n), 14 * m * n**2 + 8 * n**3 + 2 * m * n**2),
    ):
        assert sum(work(name, shape).values()) == pytest.approx(flops, rel=0.01), name
    full = sum(work("svd", (m, n), full_matrices=True).values())
    assert full == 4 * m**2 * n + 8 * m * n**2 + 9 * n**3


def test_what_is_refused() -> None:
    with pytest.raises(RuleError, match="square"):
        execute("eigh", {}, np.ones((2, 3)))
    with pytest.raises(RuleError, match="at least 2"):
        execute("svd", {}, np.ones(3))
    for name in ("svd", "eigh", "svdvals", "eigvalsh", "pinv"):
        with pytest.raises(RuleError, match="converge") as caught:
            execute(name, {}, np.full((3, 3), np.nan))
        assert caught.value.code == "E602"
