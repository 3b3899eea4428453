"""Products of rectifiers against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.backward import away, central_differences
from tests.ops.harness import execute

SHAPES = [(7,), (2, 3), (2, 1, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("relu", {}),
        ("relu6", {}),
        ("leaky_relu", {"negative_slope": 0.3}),
        ("leaky_relu", {"negative_slope": -2.0}),
        ("squared_relu", {}),
    ],
)
def test_rectifiers(name: str, attrs: dict[str, Any], shape: tuple[int, ...]) -> None:
    central_differences(name, attrs, [away(*shape, kinks=(0, 6), spread=8)])


@pytest.mark.parametrize(
    ("count", "shape"), [(1, ()), (1, (5,)), (1, (2, 3)), (3, (2, 3)), (3, (2, 3, 2, 2)), (1, (2, 1, 3))]
)
def test_a_learned_slope(count: int, shape: tuple[int, ...]) -> None:
    x = away(*shape) if shape else np.array(-0.7)
    central_differences("prelu", {"num_parameters": count}, [x])


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "squared_relu", "prelu"])
def test_half_precision(name: str) -> None:
    execute(name, {}, away(2, 5).astype(np.float16))
