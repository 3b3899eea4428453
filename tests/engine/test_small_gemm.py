"""Products cut into blocks and chunks agree with whole products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.lower.small_gemm import blocks, chunks
from netcalc.engine.tuning import Tuning

sizes = st.sampled_from([1, 2, 7, 24, 49, 64, 96, 256, 512, 2048])


@given(sizes, sizes, sizes, st.integers(1, 2))
def test_blocks_divide_the_product_and_are_small(rows: int, depth: int, columns: int, threads: int) -> None:
    height, width = blocks(rows, depth, columns, threads, Tuning())
    assert rows % height == 0 and columns % width == 0
    assert (height, width) == (rows, columns) or height * depth * width <= Tuning().small_gemm_macs


@pytest.mark.parametrize(
    ("rows", "depth", "columns"), [(49, 4608, 512), (49, 512, 2048), (7, 3072, 768), (64, 640, 96)]
)
def test_chunks_sum_to_the_product(rows: int, depth: int, columns: int) -> None:
    split = chunks(rows, depth, columns, 1, Tuning())
    assert split is not None
    rng = np.random.default_rng(0)
    x, matrix = rng.standard_normal((rows, depth)), rng.standard_normal((depth, columns))
    arranged = np.ascontiguousarray(split.arranged(matrix))
    assert arranged.shape == split.shape(depth, columns)
    y, scratch = np.empty((rows, columns)), np.empty(split.buffer_elements(rows, depth, columns))
    for one in split.product(x, arranged, y, scratch):
        one()
    np.testing.assert_allclose(y, x @ matrix, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "threads"), [(49, 512, 512, 2), (65, 512, 512, 1), (4, 64, 64, 1)]
)
def test_other_products_are_not_cut(rows: int, depth: int, columns: int, threads: int) -> None:
    assert chunks(rows, depth, columns, threads, Tuning()) is None
