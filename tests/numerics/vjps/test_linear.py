"""Products of linear maps against central differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.backward import away, central_differences

sizes = st.integers(1, 4)


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(sizes, max_size=3), features=sizes, out=sizes, bias=st.booleans())
def test_linear(rows: list[int], features: int, out: int, bias: bool) -> None:
    central_differences("linear", {"out": out, "bias": bias}, [away(*rows, features)])


def test_computed_weight_and_bias() -> None:
    arrays = [away(2, 3), away(4, 3, seed=1), away(4, seed=2)]
    central_differences("linear", {"out": 4, "bias": False}, arrays)


def test_a_wrong_product_is_found() -> None:
    """The comparison fails for a kernel that is not what the product differentiates."""
    with pytest.raises(AssertionError, match="central difference"):
        central_differences("relu", {}, [np.zeros((3,))])


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(sizes, max_size=2), features=st.tuples(sizes, sizes), out=sizes, bias=st.booleans())
def test_bilinear(rows: list[int], features: tuple[int, int], out: int, bias: bool) -> None:
    arrays = [away(*rows, size, seed=seed) for seed, size in enumerate(features)]
    central_differences("bilinear", {"out": out, "bias": bias}, arrays)
