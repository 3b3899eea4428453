"""Products of position embeddings and of the cache against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import BackwardPass, central_differences


@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_learned_positions(shape: tuple[int, ...], add: bool) -> None:
    central_differences("learned_positions", {"max_length": 6, "offset": 2, "add": add}, [normal(*shape)])


def test_sinusoids_pass_the_gradient_on() -> None:
    central_differences("sinusoidal_positions", {"max_length": 6}, [normal(2, 3, 4)])


@pytest.mark.parametrize("window", [None, 3, 9])
@pytest.mark.parametrize("past", [None, 4])
def test_cache(window: int | None, past: int | None) -> None:
    arrays: list[Any] = [normal(2, 2, 3), normal(2, 2, 5, seed=1)]
    if past:
        arrays += [normal(2, past, 3, seed=2), normal(2, past, 5, seed=3)]
    central_differences("key_value_cache", {"window": window}, arrays)


def test_a_cache_of_which_only_the_keys_are_used() -> None:
    arrays = [normal(2, 1, 3), normal(2, 1, 3), normal(2, 4, 3), normal(2, 4, 3)]
    found = BackwardPass(operation("key_value_cache"), arrays, {}).product((np.ones((2, 5, 3)), None))
    assert [bool(found[source].any()) for source in range(4)] == [True, False, True, False]
