"""Products of sorting and selection against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.ops.sorting import Topk
from tests.ops.backward import BackwardPass, away, central_differences


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (3, 2, 4)])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_extremes_so_far(shape: tuple[int, ...], name: str) -> None:
    central_differences(name, {"axis": 1 if len(shape) > 2 else -1}, [away(*shape)])


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (3, 2, 4)])
@pytest.mark.parametrize("up", [False, True])
def test_values(shape: tuple[int, ...], up: bool) -> None:
    axis = 1 if len(shape) > 2 else -1
    central_differences("sort", {"axis": axis, "descending": up}, [away(*shape)])
    central_differences("topk", {"k": 2 if shape else 1, "axis": axis, "largest": up}, [away(*shape)])


def test_the_first_of_equal_elements_is_selected() -> None:
    passed = BackwardPass(Topk(k=1), [np.array([1.0, 2.0, 2.0])], {})
    np.testing.assert_array_equal(passed.product((np.ones(1), None))[0], [0, 1, 0])
