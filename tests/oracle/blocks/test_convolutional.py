"""Blocks of convolutional networks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arrays import normal
from tests.oracle.blocks.harness import agree
from tests.oracle.harness import draws

pytest.importorskip("torch")
from torch import nn

from tests.oracle.blocks import convolutional as reference

sizes = st.integers(5, 11)
widths = st.sampled_from([4, 8, 12, 16])
strides = st.integers(1, 2)


@given(st.data())
@draws
def test_bottleneck(data: Any) -> None:
    inputs, planes = data.draw(widths), data.draw(st.sampled_from([2, 4, 8]))
    groups, base_width = data.draw(st.sampled_from([(1, 64), (1, 128), (2, 32), (4, 64)]))
    how = {"stride": data.draw(strides), "groups": groups, "base_width": base_width}
    how["dilation"] = data.draw(st.integers(1, 2))
    module = reference.Bottleneck(inputs, planes, **how)
    agree("bottleneck", {"channels": planes, **how}, module, normal(2, inputs, data.draw(sizes), data.draw(sizes)))


@given(inputs=widths, squeeze=st.integers(1, 6), height=sizes)
@draws
def test_squeeze_and_excite(inputs: int, squeeze: int, height: int) -> None:
    module = reference.SqueezeExcitation(inputs, squeeze, nn.SiLU, nn.Hardsigmoid)
    args = {"squeeze_channels": squeeze, "activation": "silu", "scale_activation": "hardsigmoid"}
    agree("squeeze_and_excite", args, module, normal(2, inputs, height, 6))


@given(inputs=widths, outputs=widths, stride=strides, ratio=st.sampled_from([1, 2.5, 6]), height=sizes)
@draws
def test_inverted_residual(inputs: int, outputs: int, stride: int, ratio: float, height: int) -> None:
    module = reference.inverted_residual(inputs, outputs, stride, ratio)
    args = {"channels": outputs, "stride": stride, "expand_ratio": ratio}
    agree("inverted_residual", args, module, normal(2, inputs, height, 7))


@given(st.data())
@draws
def test_inverted_residual_v3(data: Any) -> None:
    inputs, hidden, outputs = data.draw(widths), data.draw(st.sampled_from([8, 12, 24, 40])), data.draw(widths)
    kernel, se, stride = data.draw(st.sampled_from([3, 5])), data.draw(st.booleans()), data.draw(strides)
    act = data.draw(st.sampled_from(["relu", "hardswish"]))
    dilation = data.draw(st.integers(1, 2))
    torch_act = nn.ReLU if act == "relu" else nn.Hardswish
    module = reference.inverted_residual_v3(inputs, hidden, outputs, kernel, se, torch_act, stride, dilation)
    args = {"kernel": kernel, "expanded_channels": hidden, "channels": outputs, "use_se": se, "activation": act}
    args |= {"stride": stride, "dilation": dilation}
    agree("inverted_residual_v3", args, module, normal(1, inputs, data.draw(sizes), 9))


@pytest.mark.parametrize("block", ["mbconv", "fused_mbconv"])
@given(
    inputs=st.sampled_from([6, 8, 16]),
    outputs=st.sampled_from([8, 16]),
    kernel=st.sampled_from([3, 5]),
    stride=strides,
    ratio=st.sampled_from([1, 1.4, 4, 6]),
)
@draws
def test_efficientnet(block: str, inputs: int, outputs: int, kernel: int, stride: int, ratio: float) -> None:
    module = getattr(reference, block)(inputs, outputs, kernel, stride, ratio)
    args = {"channels": outputs, "kernel": kernel, "stride": stride, "expand_ratio": ratio}
    agree(block, args, module, normal(2, inputs, 9, 8))


@pytest.mark.parametrize(
    ("block", "args"),
    [
        ("inception_a", {"pool_features": 5}),
        ("inception_b", {}),
        ("inception_c", {"channels_7x7": 6}),
        ("inception_d", {}),
    ],
)
def test_inception_v3(block: str, args: dict[str, Any]) -> None:
    agree(block, args, getattr(reference, block)(7, *args.values()), normal(1, 7, 8, 9))


def test_inception_v3_e() -> None:
    agree("inception_e", {}, reference.InceptionE(7), normal(1, 7, 5, 4))


@pytest.mark.parametrize("norm", [False, True])
@given(channels=st.tuples(widths, widths, widths, widths), height=st.integers(1, 3), width=st.integers(1, 4))
@draws
def test_feature_pyramid(norm: bool, channels: tuple[int, ...], height: int, width: int) -> None:
    """Interpolation between levels whose sizes do not double."""
    maps = [normal(1, c, height * 2**k + k, width * 2**k, seed=k) for k, c in zip((3, 2, 1, 0), channels, strict=True)]
    module = reference.FeaturePyramid(list(channels), 6, norm)
    agree("feature_pyramid", {"channels": 6, "norm": "batch_norm" if norm else None}, module, *maps)


@pytest.mark.parametrize("source", ["C5", "P5"])
def test_retina_pyramid(source: str) -> None:
    maps = [normal(1, c, size, size + 1, seed=size) for c, size in ((4, 13), (6, 7), (8, 4))]
    module = reference.FeaturePyramid([4, 6, 8], 5, extra=source)
    agree("retina_pyramid", {"channels": 5, "from_features": source == "C5"}, module, *maps)


@given(inputs=widths, outputs=widths, height=sizes, width=sizes)
@draws
def test_unet_down(inputs: int, outputs: int, height: int, width: int) -> None:
    agree("unet_down", {"channels": outputs}, reference.Down(inputs, outputs), normal(1, inputs, height, width))


@pytest.mark.parametrize("bilinear", [False, True])
@pytest.mark.parametrize("crop", [False, True])
@given(inputs=widths, skipped=widths, height=sizes, width=sizes, more=st.integers(0, 3))
@draws
def test_unet_up(bilinear: bool, crop: bool, inputs: int, skipped: int, height: int, width: int, more: int) -> None:
    module = reference.Up(inputs, skipped, 6, bilinear, crop)
    args: dict[str, Any] = {"channels": 6, "bilinear": bilinear, "crop": crop}
    if crop:
        args |= {"norm": None, "padding": 0}
    skip = normal(1, skipped, 2 * height + more, 2 * width + 1, seed=1)
    agree("unet_up", args, module, normal(1, inputs, height, width), skip)


@given(inputs=widths, layers=st.integers(1, 4), growth=st.integers(1, 5), bn_size=st.integers(1, 4))
@draws
def test_dense_block(inputs: int, layers: int, growth: int, bn_size: int) -> None:
    module = reference.DenseBlock(inputs, layers, growth, bn_size)
    args = {"num_layers": layers, "growth_rate": growth, "bn_size": bn_size}
    agree("dense_block", args, module, normal(2, inputs, 5, 4))


@given(inputs=widths, outputs=widths, stride=strides, height=sizes)
@draws
def test_shuffle_unit(inputs: int, outputs: int, stride: int, height: int) -> None:
    outputs = inputs if stride == 1 else outputs
    module = reference.ShuffleUnit(inputs, outputs, stride)
    agree("shuffle_unit", {"channels": outputs, "stride": stride}, module, normal(2, inputs, height, 6))
