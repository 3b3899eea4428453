"""Convolutions with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

# said once by torch, where an even kernel makes 'same' pad one side more than the other
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")

MODES = ["zeros", "reflect", "replicate", "circular"]


def per_axis(draw: st.DrawFn, axes: int, least: int, most: int) -> Any:
    """Draw one number, or one for each axis."""
    number = st.integers(least, most)
    return draw(number | st.lists(number, min_size=axes, max_size=axes))


def signal(draw: st.DrawFn, axes: int, channels: int) -> np.ndarray:
    """Draw an input with or without a batch axis; an axis may have a single element."""
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(1, 8), min_size=axes, max_size=axes))
    return np.random.default_rng(0).normal(size=(*batch, channels, *sizes)).astype(np.float32)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[int, dict[str, Any], np.ndarray]:
    axes = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    attrs = {
        "out": draw(st.integers(1, 6)),
        "kernel": per_axis(draw, axes, 1, 4),
        "stride": per_axis(draw, axes, 1, 3),
        "padding": draw(st.sampled_from(["same", "valid"])) if draw(st.booleans()) else per_axis(draw, axes, 0, 3),
        "dilation": per_axis(draw, axes, 1, 3),
        "groups": groups,
        "bias": draw(st.booleans()),
        "padding_mode": draw(st.sampled_from(MODES)),
    }
    return axes, attrs, signal(draw, axes, draw(st.sampled_from([groups, 2 * groups, 4])))


@st.composite
def computed(draw: st.DrawFn, weight: tuple[int, ...], out: int) -> list[np.ndarray | None]:
    """Draw which of weight and bias are inputs, and seldom of another shape than they should have."""
    rng = np.random.default_rng(2)
    wrong = draw(st.sampled_from([0] * 9 + [1]))
    given = rng.normal(size=(weight[0] + wrong, *weight[1:])).astype(np.float32)
    shift = rng.normal(size=out).astype(np.float32)
    return draw(st.sampled_from([[None, None], [given, None], [given, shift], [None, shift]]))


def called(layer: Any, parameters: dict[str, Any], x: Any) -> Any:
    """Return the layer's result with these parameters, which have the shapes of its own and keep their gradients."""
    shapes = {name: own.shape for name, own in layer.named_parameters()}
    assert {name: tensor.shape for name, tensor in parameters.items()} == shapes
    return torch.func.functional_call(layer, parameters, (x,))


def tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@draws
@given(convolutions(), st.data())
def test_conv(drawn: tuple[int, dict[str, Any], np.ndarray], data: st.DataObject) -> None:
    axes, attrs, x = drawn
    kernel = attrs["kernel"] if isinstance(attrs["kernel"], list) else [attrs["kernel"]] * axes
    shape = (attrs["out"], max(1, x.shape[-axes - 1] // attrs["groups"]), *kernel)
    weight, bias = data.draw(computed(shape, attrs["out"]))

    def reference(weights: dict[str, Any], x: Any, weight: Any, bias: Any) -> Any:
        given = {k: tupled(v) for k, v in attrs.items() if k not in ("out", "kernel")}
        given["bias"] = given["bias"] or bias is not None
        layer = getattr(torch.nn, f"Conv{axes}d")(x.shape[-axes - 1], attrs["out"], tupled(attrs["kernel"]), **given)
        inputs = {name: tensor for name, tensor in (("weight", weight), ("bias", bias)) if tensor is not None}
        return called(layer, weights | inputs, x)

    agree(f"conv{axes}d", attrs, [x, weight, bias], reference)


@draws
@given(
    pads=st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=2, max_size=2),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    mode=st.sampled_from(MODES),
    sizes=st.lists(st.integers(2, 8), min_size=2, max_size=2),
)
def test_asymmetric_padding(pads: list[list[int]], stride: int, dilation: int, mode: str, sizes: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, *sizes)).astype(np.float32)
    attrs = {"out": 4, "kernel": 3, "padding": pads, "stride": stride, "dilation": dilation, "padding_mode": mode}

    def reference(weights: dict[str, Any], x: Any) -> Any:
        functional = torch.nn.functional
        padded = functional.pad(x, [*pads[1], *pads[0]], mode="constant" if mode == "zeros" else mode)
        return functional.conv2d(padded, **weights, stride=stride, dilation=dilation)

    agree("conv2d", attrs, [x], reference)


@draws
@given(
    out=st.integers(1, 4),
    channels=st.integers(1, 3),
    kernel=st.integers(1, 3),
    bias=st.booleans(),
    eps=st.sampled_from([1e-6, 1e-3]),
)
def test_weight_standardization(out: int, channels: int, kernel: int, bias: bool, eps: float) -> None:
    """Weights as in timm's StdConv2d: batch normalization in training mode, with filters as channels."""
    x = np.random.default_rng(0).normal(size=(2, channels, 5, 6)).astype(np.float32)
    attrs = {"out": out, "kernel": kernel, "bias": bias, "weight_standardization": True, "standardization_eps": eps}

    def reference(weights: dict[str, Any], x: Any) -> Any:
        functional = torch.nn.functional
        flat = weights["weight"].reshape(1, out, -1)
        weight = functional.batch_norm(flat, None, None, training=True, eps=eps).reshape(weights["weight"].shape)
        return functional.conv2d(x, weight, weights.get("bias"))

    agree("conv2d", attrs, [x], reference)
