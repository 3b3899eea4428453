"""Search spaces of sweeps: all structural dims and vars of twelve families, drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

__all__ = ["COLUMNS", "SPACES"]


def _flag(draw: Random) -> bool:
    return draw.random() < 0.5


def _transformer(draw: Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 4, 8, 16])
    return {
        "batch": draw.randint(1, 64),
        "source": draw.randint(8, 512),
        "target": draw.randint(8, 512),
        "vocab": draw.randint(1000, 60000),
        "heads": heads,
        "d_model": heads * 8 * draw.randint(4, 16),
        "d_ff": draw.randint(64, 4096),
        "encoder_layers": draw.randint(1, 12),
        "decoder_layers": draw.randint(1, 12),
        "max_length": draw.choice([512, 1024]),
        "activation": draw.choice(["relu", "gelu"]),
        **{name: _flag(draw) for name in ("bias", "norm_first", "final_norm", "padding_mask")},
    }


def _resnet(draw: Random) -> dict[str, Any]:
    width, size = 8 * draw.randint(2, 16), 32 * draw.randint(4, 9)
    return {
        "batch": draw.randint(1, 64),
        "height": size,
        "width": size,
        "classes": draw.randint(2, 1000),
        "stem": 8 * draw.randint(2, 16),
        "channels": [width, 2 * width, 4 * width, 8 * width],
        "depths": [draw.randint(1, 6) for _ in range(4)],
        "strides": [1, *(draw.choice([1, 2]) for _ in range(3))],
        "image_channels": draw.choice([1, 3, 4]),
        "activation": draw.choice(["relu", "silu"]),
    }


def _vit(draw: Random) -> dict[str, Any]:
    heads, patch = draw.choice([1, 2, 3, 4, 6, 8, 12, 16]), draw.choice([4, 8, 14, 16, 32])
    return {
        "batch": draw.randint(1, 64),
        "height": patch * draw.randint(4, 16),
        "width": patch * draw.randint(4, 16),
        "patch": patch,
        "heads": heads,
        "d_model": heads * 8 * draw.randint(2, 12),
        "d_ff": draw.randint(64, 4096),
        "layers": draw.randint(1, 32),
        "classes": draw.randint(2, 1000),
        "representation": draw.choice([None, draw.randint(16, 1024)]),
        "activation": draw.choice(["gelu", "relu"]),
    }


def _bert(draw: Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 4, 8, 12, 16])
    return {
        "batch": draw.randint(1, 64),
        "length": draw.randint(8, 512),
        "vocab": draw.randint(1000, 60000),
        "heads": heads,
        "d_model": heads * 8 * draw.randint(2, 12),
        "d_ff": draw.randint(64, 4096),
        "layers": draw.randint(1, 24),
        "segments": draw.randint(1, 4),
        "activation": draw.choice(["gelu", "relu"]),
        "head": draw.choice(["none", "sequence", "token", "question"]),
        "classes": draw.randint(2, 20),
        **{name: _flag(draw) for name in ("pooler", "masked_lm", "next_sentence", "tied")},
    }


def _unet(draw: Random) -> dict[str, Any]:
    return {
        "batch": draw.randint(1, 16),
        "height": 4 * draw.randint(48, 160),
        "width": 4 * draw.randint(48, 160),
        "image_channels": draw.choice([1, 3]),
        "classes": draw.randint(1, 32),
        "channels": draw.randint(4, 96),
        "padding": draw.randint(0, 1),
        "norm": draw.choice([None, "batch_norm"]),
        **{name: _flag(draw) for name in ("crop", "bilinear")},
    }


def _t5(draw: Random) -> dict[str, Any]:
    return {
        "batch": draw.randint(1, 64),
        "source": draw.randint(8, 512),
        "target": draw.randint(8, 512),
        "vocab": draw.randint(1000, 60000),
        "d_model": 8 * draw.randint(8, 128),
        "heads": draw.randint(1, 16),
        "head_dim": 8 * draw.randint(2, 16),
        "d_ff": draw.randint(64, 4096),
        "encoder_layers": draw.randint(1, 24),
        "decoder_layers": draw.randint(1, 24),
        "buckets": draw.choice([16, 32, 64]),
        "max_distance": draw.choice([128, 256]),
        "activation": draw.choice(["relu", "gelu"]),
        "head": draw.choice(["lm", "none"]),
        **{name: _flag(draw) for name in ("gated", "tied", "scaled", "padding_mask")},
    }


def _llama(draw: Random) -> dict[str, Any]:
    kv_heads = draw.choice([1, 2, 4, 8])
    heads = kv_heads * draw.choice([1, 2, 4])
    flags = ("attention_bias", "mlp_bias", "tied", "sparse", "padding_mask")
    return {
        "batch": draw.randint(1, 16),
        "length": draw.randint(16, 4096),
        "vocab": draw.randint(1000, 128256),
        "heads": heads,
        "kv_heads": kv_heads,
        "d_model": heads * 16 * draw.randint(2, 8),
        "layers": draw.randint(1, 48),
        "d_ff": draw.randint(64, 14336),
        "window": draw.choice([None, draw.randint(16, 1024)]),
        "activation": draw.choice(["silu", "gelu"]),
        "logits": draw.choice(["all", "last"]),
        **{name: _flag(draw) for name in flags},
    }


#: Channels and strides of the blocks of MobileNetV3, of which the first few are taken.
_BLOCKS = [(16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (40, 1), (80, 2), (80, 1), (80, 1), (80, 1), (112, 1), (112, 1)]
_BLOCKS += [(160, 2), (160, 1), (160, 1)]


def _mobilenet(draw: Random) -> dict[str, Any]:
    size = 32 * draw.randint(4, 9)
    return {
        "batch": draw.randint(1, 64),
        "height": size,
        "width": size,
        "classes": draw.randint(2, 1000),
        "multiplier": draw.randint(10, 40) / 20,
        "rows": [
            [
                draw.choice([3, 5, 7]),
                width * draw.randint(2, 6),
                width,
                _flag(draw),
                draw.choice(["relu", "hardswish"]),
                stride,
            ]
            for width, stride in _BLOCKS[: draw.randint(9, 15)]
        ],
        "last_channels": 64 * draw.randint(4, 32),
    }


def _efficientnet(draw: Random) -> dict[str, Any]:
    size = 32 * draw.randint(4, 9)
    return {
        "batch": draw.randint(1, 64),
        "height": size,
        "width": size,
        "classes": draw.randint(2, 1000),
        "multiplier": draw.randint(10, 40) / 20,
        "depth": draw.randint(10, 20) / 10,
        "stem": 8 * draw.randint(2, 6),
        "stages": [
            [
                "mbconv",
                draw.choice([1, 3, 4, 6]),
                draw.choice([3, 5, 7]),
                stride,
                8 * draw.randint(1, 4) * (number + 1),
                draw.randint(1, 4),
            ]
            for number, stride in enumerate([1, 2, 2, 2, 1, 2, 1])
        ],
    }


def _densenet(draw: Random) -> dict[str, Any]:
    size = 32 * draw.randint(4, 9)
    return {
        "batch": draw.randint(1, 64),
        "height": size,
        "width": size,
        "classes": draw.randint(2, 1000),
        "growth_rate": draw.randint(8, 64),
        "depths": [draw.randint(2, 24) for _ in range(4)],
        "init_features": draw.randint(16, 128),
        "bn_size": draw.randint(1, 6),
    }


def _swin(draw: Random) -> dict[str, Any]:
    heads, window, patch = draw.randint(1, 4), draw.choice([4, 7, 8]), draw.choice([2, 4])
    return {
        "batch": draw.randint(1, 16),
        "height": patch * window * 8 * draw.randint(1, 2),
        "width": patch * window * 8 * draw.randint(1, 2),
        "patch": patch,
        "d_model": heads * 8 * draw.randint(2, 8),
        "heads": [heads, 2 * heads, 4 * heads, 8 * heads],
        "depths": [2 * draw.randint(1, 3) for _ in range(4)],
        "window": window,
        "classes": draw.randint(2, 1000),
        "image_channels": draw.choice([1, 3]),
        "norm_first": _flag(draw),
        "activation": draw.choice(["gelu", "relu"]),
    }


#: Draws of the settings of a network, by spec.
SPACES: Mapping[str, Callable[[Random], dict[str, Any]]] = {
    "transformer": _transformer,
    "resnet34": _resnet,
    "vit_b_16": _vit,
    "bert-base": _bert,
    "resnet50": _resnet,
    "unet": _unet,
    "t5-small": _t5,
    "llama-3-8b": _llama,
    "mobilenet_v3_large": _mobilenet,
    "efficientnet_b0": _efficientnet,
    "densenet121": _densenet,
    "swin_t": _swin,
}

_COUNTS = ("params", "macs", "flops")

#: Columns of closed forms by spec: the figures, and of each size the least factor, the one above the last, the step.
COLUMNS: Mapping[str, tuple[tuple[str, ...], Mapping[str, tuple[int, int, int]]]] = {
    "gpt2": (("params",), {"d_model": (1, 200, 12), "layers": (2, 100, 1), "length": (2, 1024, 1)}),
    "llama-3-8b": (_COUNTS, {"d_ff": (64, 14336, 1), "layers": (2, 100, 1), "length": (2, 1024, 1)}),
    "vit_b_16": (_COUNTS, {"d_model": (1, 200, 12), "layers": (2, 100, 1), "d_ff": (3, 1024, 1)}),
    "bert-base": (_COUNTS, {"d_model": (1, 200, 12), "layers": (2, 100, 1), "length": (2, 512, 1)}),
    "resnet50": (_COUNTS, {"height": (2, 20, 32), "classes": (3, 1000, 1), "stem": (3, 64, 1)}),
}
