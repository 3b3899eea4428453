"""Product of sampling at computed positions against central differences, and at borders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.ops.grid_sample import GridSample
from tests.ops.backward import BackwardPass, away, central_differences


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 3),
    st.sampled_from(["bilinear", "nearest", "bicubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.booleans(),
    st.integers(0, 100),
)
def test_grid_sample(axes: int, mode: str, padding: str, corners: bool, seed: int) -> None:
    axes = 2 if mode == "bicubic" else axes
    rng, sizes = np.random.default_rng(seed), np.arange(3, 3 + axes)
    # positions in elements, in the image and beyond, away from elements and from the borders half-way
    places = rng.integers(-4, 7, (2, *(2,) * axes, axes)) + rng.choice([0.1, 0.3, 0.6, 0.8], (2, *(2,) * axes, axes))
    along = sizes[::-1]
    grid = 2 * places / (along - 1) - 1 if corners else (2 * places + 1) / along - 1
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    central_differences("grid_sample", attrs, [away(2, 3, *sizes), grid], step=1e-6)


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_outermost_elements(padding: str) -> None:
    """As in PyTorch, positions on the outermost elements have no gradient."""
    op = GridSample(padding_mode=padding, align_corners=True)
    grid = np.array([[[[-1.0, 0.25], [1.0, 0.25], [0.25, -1.0], [0.25, 1.0], [0.25, 0.25]]]])
    passed = BackwardPass(op, [away(1, 2, 4, 4), grid], {})
    found = passed.product(passed.seeds())[1][0, 0]
    np.testing.assert_array_equal(found == 0, [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
