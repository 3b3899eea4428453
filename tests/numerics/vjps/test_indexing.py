"""Products of look-up and replacement at positions that tensors hold, against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc import ops
from tests.ops.backward import BackwardPass, away, central_differences

PLACES = [
    ([0], [np.array([1, 1, -2])]),
    ([1, 2], [np.array([[0], [2]]), np.array([1, -1, -1])]),
    ([2, 0], [np.array([3, 3]), np.array([0, 0])]),
    ([1], [np.array(2)]),
]


@pytest.mark.parametrize(("axis", "indices"), PLACES)
def test_index(axis: list[int], indices: list[np.ndarray]) -> None:
    central_differences("index", {"axis": axis}, [away(2, 3, 4), *indices])


@pytest.mark.parametrize(("axis", "indices"), PLACES)
def test_accumulated_values(axis: list[int], indices: list[np.ndarray]) -> None:
    arrays = [away(2, 3, 4), away(1, seed=1), *indices]
    central_differences("index_put", {"axis": axis, "accumulate": True}, arrays)


def test_index_put_of_rows() -> None:
    for accumulate in (False, True):
        arrays = [away(3, 4), away(2, 4, seed=1), np.array([2, 0])]
        central_differences("index_put", {"axis": [0], "accumulate": accumulate}, arrays)


@pytest.mark.parametrize("reduce", [None, "sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("axis", [0, -1])
def test_scatter(reduce: str | None, axis: int) -> None:
    index = np.array([[1, 0, 2], [2, 1, 0]] if reduce is None else [[1, 0, 1], [0, 1, 1]])
    arrays = [away(3, 4), index, away(2, 3, seed=1)]
    central_differences("scatter", {"axis": axis, "reduce": reduce}, arrays)


@pytest.mark.parametrize("zeros", [[0], [1], [0, 2], [0, 1]])
def test_products_with_zeros(zeros: list[int]) -> None:
    """The gradient of a factor is the product of the others, also where factors are zero."""
    source = away(4, seed=1)
    source[zeros] = 0
    for x in (away(3), np.array([0.0, 2, 0.5])):
        central_differences("scatter", {"axis": 0, "reduce": "prod"}, [x, np.array([0, 1, 0, 2]), source])


def test_extrema_share_their_gradient() -> None:
    """As in PyTorch, all elements that are equal to the extremum have the same share."""
    op = ops.every()["scatter"](axis=0, reduce="amax")
    passed = BackwardPass(op, [np.array([1.0, 5.0]), np.array([0, 0, 1]), np.array([1.0, 1.0, 2.0])], {})
    found = passed.product((np.array([6.0, 1.0]),))
    np.testing.assert_allclose(found[0], [2, 1])
    np.testing.assert_allclose(found[2], [2, 2, 0])


@pytest.mark.parametrize("mask", [(2, 3), (3,), (1, 1), (4, 2, 1)])
def test_masked_scatter(mask: tuple[int, ...]) -> None:
    chosen = np.random.default_rng(0).random(mask) < 0.6
    central_differences("masked_scatter", {}, [away(2, 3), chosen, away(5, 6, seed=1)])
    central_differences("masked_scatter", {}, [away(3), np.ones((2, 3), bool), away(7, seed=1)])
