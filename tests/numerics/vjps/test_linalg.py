"""Products of inverses, determinants and equations against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.numerics.kernels import Run, apply
from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import BackwardPass, central_differences


def matrices(*shape: int) -> np.ndarray:
    """Return matrices with singular values around 2."""
    return normal(*shape) / shape[-1] + 2 * np.eye(shape[-1])


@pytest.mark.parametrize("name", ["inv", "det", "slogdet"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 2, 2)])
def test_functions_of_matrices(name: str, shape: tuple[int, ...]) -> None:
    central_differences(name, {}, [matrices(*shape)])


@pytest.mark.parametrize(
    "shapes", [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3)), ((4, 1, 3, 3), (2, 3, 2)), ((3, 3), (2, 3, 1))]
)
def test_solve(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    central_differences("solve", {}, [matrices(*shapes[0]), normal(*shapes[1], seed=1)])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("shapes", [((3, 3), (3, 2)), ((2, 1, 3, 3), (4, 3, 1))])
def test_solve_triangular(shapes: tuple[tuple[int, ...], tuple[int, ...]], upper: bool, unit: bool) -> None:
    attrs = {"upper": upper, "unitriangular": unit}
    central_differences("solve_triangular", attrs, [matrices(*shapes[0]), normal(*shapes[1], seed=1)])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4)])
def test_cholesky(shape: tuple[int, ...], upper: bool) -> None:
    """The gradient is that of a symmetric matrix, so that it is compared along symmetric directions."""
    op, root = operation("cholesky", upper=upper), matrices(*shape)
    matrix = root @ root.swapaxes(-1, -2)
    passed = BackwardPass(op, [matrix], {})
    seeds = passed.seeds()
    gradient = passed.product(seeds)[0]
    np.testing.assert_allclose(gradient, gradient.swapaxes(-1, -2), atol=1e-12)
    direction = normal(*shape, seed=2)
    direction = direction + direction.swapaxes(-1, -2)
    high, low = (apply(op, Run(), (matrix + step * direction,), {})[0] for step in (1e-6, -1e-6))
    measured = np.sum(seeds[0] * (high - low)) / 2e-6
    assert np.sum(gradient * direction) == pytest.approx(measured, rel=1e-6)
