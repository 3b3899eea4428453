"""Linear layers with random attributes and shapes, against torch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")


@draws
@given(out=st.integers(1, 6), bias=st.booleans(), shape=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_linear(out: int, bias: bool, shape: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    agree(
        "linear",
        {"out": out, "bias": bias},
        [x],
        lambda w, x: torch.nn.functional.linear(x, w["weight"], w.get("bias")),
    )


@draws
@given(
    out=st.integers(1, 6),
    bias=st.booleans(),
    shape=st.lists(st.integers(1, 4), min_size=0, max_size=3),
    last=st.integers(1, 5),
    same=st.integers(0, 5).map(bool),
)
def test_bilinear(out: int, bias: bool, shape: list[int], last: int, same: bool) -> None:
    x1, x2 = (
        np.random.default_rng(0).normal(size=size).astype(np.float32)
        for size in (shape, [*(shape[:-1] if same else shape), last])
    )
    agree(
        "bilinear",
        {"out": out, "bias": bias},
        [x1, x2],
        lambda w, x1, x2: torch.nn.functional.bilinear(x1, x2, w["weight"], w.get("bias")),
    )
