"""Constructors of layers of ``torch.nn`` that fit a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random

from tests.exhaustive.drawn_modules.draft import Value

__all__ = ["FEWEST", "activation", "layer_for"]

#: A constructor for a tensor of these sizes.
Maker = Callable[[Random, Sequence[int]], str]

#: Fewest elements that are normed, since the differences of fewer are rounding.
FEWEST = 3
_WIDTHS = (1, 3, 4, 4, 6, 8, 8, 12)
_ACTIVATIONS = (
    *("ReLU()", "ReLU(inplace=True)", "GELU()", "GELU(approximate='tanh')", "SiLU()", "Tanh()", "Sigmoid()"),
    *("LeakyReLU(0.1)", "ELU()", "Hardswish()", "Mish()", "Softplus()", "ReLU6()", "Softmax(-1)", "PReLU()", "CELU()"),
    *("Hardtanh()", "Softsign()", "LogSigmoid()", "SELU()", "Hardsigmoid()", "Tanhshrink()", "LogSoftmax(-1)"),
    *("GLU()", "Dropout(0.1)", "Identity()", "AlphaDropout(0.1)", "Threshold(-9.0, 0.0)", "SiLU(inplace=True)"),
)


def activation(rng: Random) -> str:
    """Return a layer without sizes."""
    return f"nn.{rng.choice(_ACTIVATIONS)}"


def layer_for(rng: Random, value: Value) -> str:
    """Return a layer that may take a tensor."""
    sizes = value.shape
    if not value.is_float:
        count, width = rng.choice((10, 16)), rng.choice(_WIDTHS)
        last = rng.choice(("", "", ", padding_idx=0", ", scale_grad_by_freq=True"))
        bag = len(sizes) == 2 and rng.random() < 0.15
        mode = rng.choice(("sum", "mean"))
        return f"nn.EmbeddingBag({count}, {width}, mode='{mode}')" if bag else f"nn.Embedding({count}, {width}{last})"
    makers: list[Maker] = [lambda rng, sizes: activation(rng)]
    if sizes:
        makers += _OF_LAST * 2
    makers += _BY_RANK.get(len(sizes), []) * 3
    return rng.choice(makers)(rng, sizes)


def _bias(rng: Random) -> str:
    return "" if rng.random() < 0.7 else ", bias=False"


def _linear(rng: Random, sizes: Sequence[int]) -> str:
    return f"nn.Linear({sizes[-1]}, {rng.choice(_WIDTHS)}{_bias(rng)})"


def _layer_norm(rng: Random, sizes: Sequence[int]) -> str:
    if sizes[-1] < FEWEST:
        return activation(rng)
    kind = rng.choice(("LayerNorm", "LayerNorm", "RMSNorm"))
    normal = list(sizes[-1:]) if len(sizes) < 3 or rng.random() < 0.8 else list(sizes[-2:])
    return f"nn.{kind}({normal}{rng.choice(('', '', ', elementwise_affine=False'))})"


def _widths(rng: Random, channels: int) -> tuple[int, str]:
    groups = rng.choice([1, 1, *(g for g in (2, 3, 4, channels) if channels % g == 0)])
    return groups * rng.choice((1, 2, 3)) if groups > 1 else rng.choice(_WIDTHS), (
        f", groups={groups}" if groups > 1 else ""
    )


def _conv(axes: int) -> Maker:
    def make(rng: Random, sizes: Sequence[int]) -> str:
        channels = sizes[1]
        out, groups = _widths(rng, channels)
        kernel = rng.choice((1, 3, 3, 2))
        more = rng.choice(("", ", padding=1", ", stride=2, padding=1", ", padding='same'", ", dilation=2, padding=2"))
        mode = ", padding_mode='circular'" if "padding=1" in more and rng.random() < 0.2 else ""
        return f"nn.Conv{axes}d({channels}, {out}, {kernel}{more}{mode}{groups}{_bias(rng)})"

    return make


def _conv_transpose(axes: int) -> Maker:
    def make(rng: Random, sizes: Sequence[int]) -> str:
        more = rng.choice(("", ", stride=2", ", stride=2, padding=1, output_padding=1"))
        return f"nn.ConvTranspose{axes}d({sizes[1]}, {rng.choice(_WIDTHS)}, {rng.choice((2, 3))}{more}{_bias(rng)})"

    return make


def _norm(axes: int) -> Maker:
    def make(rng: Random, sizes: Sequence[int]) -> str:
        channels = sizes[1]
        groups = rng.choice([1, *(g for g in (2, 4) if channels % g == 0)])
        chosen = rng.choice((f"BatchNorm{axes}d({channels}", f"BatchNorm{axes}d({channels}", f"GroupNorm({groups}, "))
        if chosen.startswith("Group") and prod(sizes[1:]) // groups < FEWEST:
            chosen = f"BatchNorm{axes}d({channels}"
        if chosen.startswith("Group"):
            return f"nn.{chosen}{channels})"
        return f"nn.{chosen}{rng.choice(('', '', ', affine=False', ', eps=1e-3'))})"

    return make


def _pool(axes: int) -> Maker:
    def make(rng: Random, sizes: Sequence[int]) -> str:
        kind = rng.choice(("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "LPPool"))
        if kind.startswith("Adaptive"):
            return f"nn.{kind}{axes}d({rng.choice((1, 2, 3))})"
        if kind == "LPPool":
            return f"nn.LPPool{axes}d(2, 2)"
        return (
            f"nn.{kind}{axes}d({rng.choice(('2', '2', '3, stride=1, padding=1', '3, stride=2', '2, ceil_mode=True'))})"
        )

    return make


def _resize(axes: int) -> Maker:
    def make(rng: Random, sizes: Sequence[int]) -> str:
        more = (
            *("scale_factor=2", "scale_factor=2, mode='nearest'", "size=5"),
            *(("scale_factor=2, mode='bilinear'", "size=(4, 6), mode='bilinear', align_corners=True") * (axes == 2)),
        )
        return f"nn.Upsample({rng.choice(more)})"

    return make


def _of_image(rng: Random, sizes: Sequence[int]) -> str:
    made = (
        "Dropout2d(0.1)",
        "ZeroPad2d(1)",
        "ReflectionPad2d(1)",
        "ReplicationPad2d(1)",
        "PixelShuffle(2)",
        "Softmax2d()",
    )
    more = ("PixelUnshuffle(2)", "ChannelShuffle(2)", "Unfold(2)", "CircularPad2d(1)", "ConstantPad2d(1, 0.5)")
    return f"nn.{rng.choice((*made, *more))}"


def _shaped(rng: Random, sizes: Sequence[int]) -> str:
    half = next((n for n in (2, 3, 4) if sizes[-1] % n == 0), 1)
    return rng.choice(("nn.Flatten()", "nn.Flatten(0, 1)", f"nn.Unflatten(-1, ({half}, {sizes[-1] // half}))"))


def _encoder(rng: Random, sizes: Sequence[int]) -> str:
    heads = 2 if sizes[-1] % 2 == 0 else 1
    first = rng.choice(("True", "False"))
    layer = f"nn.TransformerEncoderLayer({sizes[-1]}, {heads}, 6, batch_first=True, norm_first={first})"
    return layer if rng.random() < 0.6 else f"nn.TransformerEncoder({layer}, 2, enable_nested_tensor=False)"


_OF_LAST: list[Maker] = [_linear, _linear, _linear, _layer_norm, _shaped]
_BY_RANK: dict[int, list[Maker]] = {
    2: [_norm(1)],
    3: [_conv(1), _conv(1), _norm(1), _pool(1), _conv_transpose(1), _encoder, _resize(1)],
    4: [_conv(2), _conv(2), _conv(2), _norm(2), _norm(2), _pool(2), _conv_transpose(2), _resize(2), _of_image],
    5: [_conv(3), _norm(3), _pool(3)],
}
