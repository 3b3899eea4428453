"""Products of orthogonal decompositions against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numerics.vjps.drawing import normal, symmetric_differences
from tests.ops.backward import central_differences

SHAPES = [(1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 2), (2, 2, 4)]


def spread(*shape: int) -> np.ndarray:
    """Return matrices whose singular values differ."""
    u, _, vh = np.linalg.svd(normal(*shape), full_matrices=False)
    return np.asarray(u * (1.0 + np.arange(min(shape[-2:]))) @ vh)


@pytest.mark.parametrize("name", ["qr", "svd", "svdvals", "pinv"])
@pytest.mark.parametrize("shape", SHAPES)
def test_of_any_matrix(name: str, shape: tuple[int, ...]) -> None:
    central_differences(name, {}, [spread(*shape)])


@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3)])
def test_of_symmetric_matrices(name: str, shape: tuple[int, ...], upper: bool) -> None:
    matrix = normal(*shape)
    symmetric_differences(name, matrix + matrix.swapaxes(-1, -2), upper=upper)


def test_vectors_beyond_the_smaller_side_have_no_gradient() -> None:
    """PyTorch leaves them out, too, since any rotation of them is as good."""
    from tests.numerics.vjps.drawing import operation
    from tests.ops.backward import BackwardPass

    x = spread(4, 2)
    gradients = []
    for full in (False, True):
        passed = BackwardPass(operation("svd", full_matrices=full), [x], {})
        seeds = tuple(np.ones(y.shape) for y in passed.outputs)
        gradients.append(passed.product(seeds)[0])
    np.testing.assert_allclose(*gradients)
