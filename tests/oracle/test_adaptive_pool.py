"""Adaptive and global pooling with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_conv import signal, tupled

torch = pytest.importorskip("torch")


@draws
@given(st.integers(1, 3), st.sampled_from(["avg", "max"]), st.data())
def test_adaptive_pool(axes: int, kind: str, data: st.DataObject) -> None:
    number = st.integers(1, 10)
    kept = st.lists(number if axes == 1 else number | st.none(), min_size=axes, max_size=axes)
    attrs: dict[str, Any] = {"output_size": data.draw(number | kept)}
    if kind == "max":
        attrs["return_indices"] = data.draw(st.booleans())
    x = np.round(signal(data.draw, axes, 3), 1)

    def reference(_: Any, x: Any) -> Any:
        given = {name: tupled(value) for name, value in attrs.items()}
        return getattr(torch.nn, f"Adaptive{kind.capitalize()}Pool{axes}d")(**given)(x)

    agree(f"adaptive_{kind}_pool{axes}d", attrs, [x], reference)


@draws
@given(st.integers(1, 3), st.sampled_from(["avg", "max"]), st.booleans(), st.data())
def test_global_pool(axes: int, kind: str, keepdim: bool, data: st.DataObject) -> None:
    x = signal(data.draw, axes, 3)
    pooled = tuple(range(-axes, 0))
    reduce = torch.mean if kind == "avg" else torch.amax
    attrs = {"keepdim": keepdim}
    agree(f"global_{kind}_pool{axes}d", attrs, [x], lambda _, x: reduce(x, dim=pooled, keepdim=keepdim))
