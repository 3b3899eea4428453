"""Unfold and fold with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_conv import per_axis, signal

torch = pytest.importorskip("torch")


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "kernel": per_axis(draw, 2, 1, 3),
        "stride": per_axis(draw, 2, 1, 3),
        "padding": per_axis(draw, 2, 0, 2),
        "dilation": per_axis(draw, 2, 1, 2),
    }


def torch_names(attrs: dict[str, Any]) -> dict[str, Any]:
    return {"kernel_size" if name == "kernel" else name: value for name, value in attrs.items()}


@draws
@given(windows(), st.data())
def test_unfold(attrs: dict[str, Any], data: st.DataObject) -> None:
    x = signal(data.draw, 2, 3)
    agree("unfold", attrs, [x], lambda _, x: torch.nn.functional.unfold(x, **torch_names(attrs)))


@draws
@given(windows(), st.lists(st.integers(3, 7), min_size=2, max_size=2), st.data())
def test_fold(attrs: dict[str, Any], sizes: list[int], data: st.DataObject) -> None:
    image = torch.zeros(1, 2, *sizes)
    try:
        rows, columns = torch.nn.functional.unfold(image, **torch_names(attrs)).shape[1:]
    except RuntimeError:
        rows, columns = 4, 4
    off = data.draw(st.sampled_from([0, 0, 0, 1]))  # sometimes an invalid size
    x = np.random.default_rng(0).normal(size=(2, rows + off, columns)).astype(np.float32)
    attrs = {"output_size": sizes, **attrs}
    agree("fold", attrs, [x], lambda _, x: torch.nn.functional.fold(x, **torch_names(attrs)))
