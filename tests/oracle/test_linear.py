"""Linear maps drawn against torch."""

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
