"""Products of inverses, determinants and equations against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numerics.vjps.drawing import normal, symmetric_differences
from tests.ops.backward import central_differences


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
    root = matrices(*shape)
    symmetric_differences("cholesky", root @ root.swapaxes(-1, -2), upper=upper)
