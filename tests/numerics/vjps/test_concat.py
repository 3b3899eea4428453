"""Products of joining and splitting against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.backward import away, central_differences
from tests.ops.harness import execute


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    shapes = [[2, 3, 2], [2, 3, 2], [2, 3, 2]]
    for number, shape in enumerate(shapes):
        shape[axis] = number + 1
    central_differences("concat", {"axis": axis}, [away(*shape, seed=n) for n, shape in enumerate(shapes)])


def test_integers_have_no_gradient() -> None:
    central_differences("concat", {}, [away(2, 3), np.ones((2, 1), np.int64), away(2, 2, seed=1)])
    central_differences("stack", {}, [np.ones((2, 3), np.int64), away(2, 3)])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack(axis: int) -> None:
    central_differences("stack", {"axis": axis}, [away(2, 3, seed=seed) for seed in range(3)])


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("split", {"sizes": 2}),
        ("split", {"sizes": [1, 3, 1], "axis": -2}),
        ("chunk", {"chunks": 3}),
        ("chunk", {"chunks": 2, "axis": 0}),
    ],
)
def test_pieces(name: str, attrs: dict[str, Any]) -> None:
    central_differences(name, attrs, [away(2, 5, 2)])
    execute(name, attrs, away(2, 5, 2))  # also with gradients of some pieces only
