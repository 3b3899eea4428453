"""Linear layers with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_conv import computed

torch = pytest.importorskip("torch")


@draws
@given(
    out=st.integers(1, 6), bias=st.booleans(), shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), data=st.data()
)
def test_linear(out: int, bias: bool, shape: list[int], data: st.DataObject) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def reference(w: dict[str, Any], x: Any, weight: Any, shift: Any) -> Any:
        weight, shift = w.get("weight", weight), w.get("bias", shift)
        assert weight.shape == (out, x.shape[-1]), "torch takes a weight of any number of rows"
        return torch.nn.functional.linear(x, weight, shift)

    agree("linear", {"out": out, "bias": bias}, [x, *data.draw(computed((out, shape[-1]), out))], reference)


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
