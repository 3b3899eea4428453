"""Blocks with computed weights against torch's weight normalization and timm's scaled standardization."""

from __future__ import annotations

from typing import Any

import pytest

from tests.arrays import normal
from tests.oracle.blocks.harness import agree

torch = pytest.importorskip("torch")
nn = torch.nn

#: (attributes of torch's module, arguments of the block, input shape)
CONVOLUTIONS: list[tuple[str, dict[str, Any], dict[str, Any], tuple[int, ...]]] = [
    ("Conv1d", {"stride": 2, "padding": 3, "groups": 2}, {"kernel": [7]}, (2, 4, 20)),
    ("Conv2d", {"padding": 1, "dilation": 2, "bias": False}, {"kernel": [3, 2]}, (2, 4, 9, 8)),
    ("Conv3d", {}, {"kernel": [2, 3, 1]}, (1, 4, 4, 5, 3)),
    ("ConvTranspose1d", {"stride": 2, "padding": 1, "groups": 2}, {"kernel": [4]}, (2, 4, 7)),
    ("ConvTranspose2d", {"output_padding": 1, "stride": 2}, {"kernel": [3, 3]}, (2, 4, 5, 6)),
]


def normalized(module: Any, dim: int | None, legacy: bool) -> Any:
    if legacy:
        with pytest.warns(FutureWarning):
            return nn.utils.weight_norm(module, dim=dim)
    return nn.utils.parametrizations.weight_norm(module, dim=dim)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("dim", [0, 1, 2, None])
@pytest.mark.parametrize(("name", "how", "args", "shape"), CONVOLUTIONS, ids=[case[0] for case in CONVOLUTIONS])
def test_weight_norm_of_convolutions(
    name: str, how: dict[str, Any], args: dict[str, Any], shape: tuple[int, ...], dim: int | None, legacy: bool
) -> None:
    module = normalized(getattr(nn, name)(4, 6, args["kernel"], **how), dim, legacy)
    transposed = name.startswith("ConvT")
    op = f"conv_transpose{name[-2]}d" if transposed else name.lower()
    ours = {k: v for k, v in how.items() if k not in ("groups", "bias")}
    args = args | {"out": 6, "conv": {op: ours}, "transposed": transposed, "dim": dim, "legacy": legacy}
    agree("weight_norm_conv", args | {k: how[k] for k in ("groups", "bias") if k in how}, module, normal(*shape))


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_of_linear_layers(dim: int | None, bias: bool, legacy: bool) -> None:
    module = normalized(nn.Linear(5, 6, bias), dim, legacy)
    agree("weight_norm_linear", {"out": 6, "bias": bias, "dim": dim, "legacy": legacy}, module, normal(2, 3, 5))


@pytest.mark.parametrize(
    "how",
    [
        {"kernel_size": 3},
        {"kernel_size": 3, "stride": 2, "groups": 2, "bias": False, "gamma": 1.7, "eps": 1e-5},
        {"kernel_size": 1, "stride": 2, "padding": 0},
        {"kernel_size": 2, "dilation": 2, "padding": 3},
    ],
)
def test_scaled_standardization(how: dict[str, Any]) -> None:
    layers = pytest.importorskip("timm.layers.std_conv")
    args = {"kernel" if k == "kernel_size" else k: v for k, v in how.items()}
    agree("scaled_std_conv2d", {"out": 6, **args}, layers.ScaledStdConv2d(4, 6, **how), normal(2, 4, 9, 10))


@pytest.mark.parametrize(("kernel", "stride", "size"), [(3, 2, 9), (3, 2, 8), (2, 1, 7), (3, 1, 7), (1, 2, 6)])
def test_scaled_standardization_with_same_padding(kernel: int, stride: int, size: int) -> None:
    layers = pytest.importorskip("timm.layers.std_conv")
    module = layers.ScaledStdConv2dSame(4, 6, kernel, stride, padding="same")
    args = {"out": 6, "kernel": kernel, "stride": stride, "padding": "same_upper"}
    agree("scaled_std_conv2d", args, module, normal(2, 4, size, size + 1))
