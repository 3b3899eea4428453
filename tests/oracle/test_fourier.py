"""Fourier transforms against torch.fft."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

SHAPES = npst.array_shapes(min_dims=1, max_dims=3, max_side=6)


@draws
@given(shape=SHAPES, axis=st.lists(st.integers(-3, 2), min_size=1, max_size=3), seed=st.integers(0, 9))
def test_fourier(shape: tuple[int, ...], axis: list[int], seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    agree("fourier", {"axis": axis}, [x], lambda w, x: torch.fft.fftn(x, dim=axis).real)
