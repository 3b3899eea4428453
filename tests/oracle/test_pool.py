"""Windowed pooling with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_conv import per_axis, signal, tupled

torch = pytest.importorskip("torch")


@st.composite
def poolings(draw: st.DrawFn, *names: str) -> tuple[int, dict[str, Any], np.ndarray]:
    axes = draw(st.integers(1, 3))
    attrs: dict[str, Any] = {"kernel": per_axis(draw, axes, 1, 4), "ceil_mode": draw(st.booleans())}
    if draw(st.booleans()):
        attrs["stride"] = per_axis(draw, axes, 1, 4)
    if "padding" in names:
        attrs["padding"] = per_axis(draw, axes, 0, 2)
    if "dilation" in names:
        attrs["dilation"] = per_axis(draw, axes, 1, 3)
    return axes, attrs, signal(draw, axes, 2)


def layer(name: str, axes: int, attrs: dict[str, Any]) -> Any:
    given = {"kernel_size" if k == "kernel" else k: tupled(v) for k, v in attrs.items()}
    return getattr(torch.nn, f"{name}{axes}d")(**given)


@draws
@given(poolings("padding", "dilation"), st.booleans())
def test_max_pool(drawn: tuple[int, dict[str, Any], np.ndarray], indices: bool) -> None:
    axes, attrs, x = drawn
    attrs["return_indices"] = indices
    x = np.round(x)  # ties, of which the first counts
    agree(f"max_pool{axes}d", attrs, [x], lambda _, x: layer("MaxPool", axes, attrs)(x))


@draws
@given(poolings("padding"), st.booleans(), st.none() | st.integers(-3, 3))
def test_avg_pool(drawn: tuple[int, dict[str, Any], np.ndarray], count: bool, divisor: int | None) -> None:
    axes, attrs, x = drawn
    attrs["count_include_pad"] = count
    if axes > 1:
        attrs["divisor_override"] = divisor
    agree(f"avg_pool{axes}d", attrs, [x], lambda _, x: layer("AvgPool", axes, attrs)(x))


@draws
@given(poolings(), st.sampled_from([1, 2, 2.5, 3.0]))
def test_lp_pool(drawn: tuple[int, dict[str, Any], np.ndarray], power: float) -> None:
    axes, attrs, x = drawn
    attrs["norm_type"] = power
    if power not in (1, 2):
        x = np.abs(x)  # rounding may decide if a root is NaN
    one = attrs if axes > 1 else {k: v[0] if isinstance(v, list) else v for k, v in attrs.items()}
    agree(f"lp_pool{axes}d", attrs, [x], lambda _, x: layer("LPPool", axes, one)(x))
