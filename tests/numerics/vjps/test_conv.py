"""Products of convolutions and transposed convolutions against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.numerics.kernels import _windows as forward_windows
from netcalc.numerics.vjps import _windows
from tests.ops.backward import BackwardPass, away, central_differences

few = settings(max_examples=25, deadline=None)
pairs = st.lists(st.integers(0, 2), min_size=2, max_size=2)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[int, dict[str, Any], np.ndarray]:
    axes, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    number = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    attrs: dict[str, Any] = {
        "out": groups * draw(st.integers(1, 2)),
        "kernel": draw(number),
        "dilation": draw(st.integers(1, 2)),
        "groups": groups,
        "bias": draw(st.booleans()),
    }
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(5, 6), min_size=axes, max_size=axes))
    return axes, attrs, away(*batch, groups * draw(st.integers(1, 2)), *sizes)


@few
@given(
    convolutions(),
    st.sampled_from(["valid", "same", "same_upper", "same_lower"]) | st.lists(pairs, min_size=3, max_size=3),
    st.sampled_from(["zeros", "reflect", "replicate", "circular"]),
    st.integers(1, 3),
)
def test_conv(drawn: tuple[int, dict[str, Any], np.ndarray], padding: Any, mode: str, stride: int) -> None:
    axes, attrs, x = drawn
    attrs["padding"] = padding if isinstance(padding, str) else padding[:axes]
    attrs["padding_mode"] = mode
    attrs["stride"] = 1 if padding == "same" else stride
    central_differences(f"conv{axes}d", attrs, [x])


@few
@given(convolutions(), st.lists(pairs, min_size=3, max_size=3), st.integers(1, 3), st.integers(0, 1))
def test_conv_transpose(
    drawn: tuple[int, dict[str, Any], np.ndarray], padding: list[list[int]], stride: int, extra: int
) -> None:
    axes, attrs, x = drawn
    attrs |= {"padding": padding[:axes], "stride": stride, "output_padding": extra if stride > 1 else 0}
    central_differences(f"conv_transpose{axes}d", attrs, [x])


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_computed_weight_and_bias(name: str) -> None:
    arrays = [away(2, 4, 5, 5), away(4, 2, 3, 3, seed=1), away(4, seed=2)]
    central_differences(name, {"out": 4, "kernel": 3, "groups": 2, "padding": 1, "bias": False}, arrays, {})


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_weight_standardization(axes: int) -> None:
    attrs = {"out": 3, "kernel": 2, "weight_standardization": True, "standardization_eps": 0.1}
    central_differences(f"conv{axes}d", attrs, [away(2, 2, *(4,) * axes)])


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_slabs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that are copied a few rows at a time give the same gradients."""
    declared = ops.find(name)
    assert declared is not None
    op = declared(out=2, kernel=3, stride=2, dilation=2, padding=1)
    rng = np.random.default_rng(0)
    shape = (2, 3, 3, 3) if name == "conv2d" else (3, 2, 3, 3)
    weights = {"weight": rng.normal(size=shape), "bias": rng.normal(size=2)}
    passed = BackwardPass(op, [rng.normal(size=(2, 3, 13, 11))], weights)
    whole = passed.product(passed.seeds())
    for module in (_windows, forward_windows):
        monkeypatch.setattr(module, "SLAB_BYTES", 3000)
    parts = passed.product(passed.seeds())
    for source, gradient in whole.items():
        np.testing.assert_allclose(parts[source], gradient, rtol=1e-12, atol=1e-12)
