"""Transposed convolutions with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_conv import called, computed, per_axis, signal, tupled

torch = pytest.importorskip("torch")


@st.composite
def transposed(draw: st.DrawFn) -> tuple[int, dict[str, Any], np.ndarray]:
    axes = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    attrs = {
        "out": draw(st.integers(1, 6)),
        "kernel": per_axis(draw, axes, 1, 4),
        "stride": per_axis(draw, axes, 1, 3),
        "padding": per_axis(draw, axes, 0, 2),
        "output_padding": per_axis(draw, axes, 0, 2),
        "dilation": per_axis(draw, axes, 1, 3),
        "groups": groups,
        "bias": draw(st.booleans()),
    }
    return axes, attrs, signal(draw, axes, draw(st.sampled_from([groups, 2 * groups, 4])))


@draws
@given(transposed(), st.data())
def test_conv_transpose(drawn: tuple[int, dict[str, Any], np.ndarray], data: st.DataObject) -> None:
    axes, attrs, x = drawn
    kernel = attrs["kernel"] if isinstance(attrs["kernel"], list) else [attrs["kernel"]] * axes
    shape = (x.shape[-axes - 1], max(1, attrs["out"] // attrs["groups"]), *kernel)
    weight, bias = data.draw(computed(shape, attrs["out"]))

    def reference(weights: dict[str, Any], x: Any, weight: Any, bias: Any) -> Any:
        given = {k: tupled(v) for k, v in attrs.items() if k not in ("out", "kernel")}
        given["bias"] = given["bias"] or bias is not None
        layer = getattr(torch.nn, f"ConvTranspose{axes}d")
        layer = layer(x.shape[-axes - 1], attrs["out"], tupled(attrs["kernel"]), **given)
        inputs = {name: tensor for name, tensor in (("weight", weight), ("bias", bias)) if tensor is not None}
        return called(layer, weights | inputs, x)

    agree(f"conv_transpose{axes}d", attrs, [x, weight, bias], reference)


@draws
@given(pads=st.lists(st.integers(0, 3), min_size=2, max_size=2), stride=st.integers(1, 3))
def test_asymmetric_padding_cuts_the_result(pads: list[int], stride: int) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)

    def reference(weights: dict[str, Any], x: Any) -> Any:
        whole = torch.nn.functional.conv_transpose1d(x, **weights, stride=stride)
        return whole[..., pads[0] : whole.shape[-1] - pads[1]]

    attrs = {"out": 2, "kernel": 4, "stride": stride, "padding": [pads]}
    agree("conv_transpose1d", attrs, [x], reference)
