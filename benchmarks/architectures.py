"""Search spaces of architectures: settings of shipped specs, drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias

__all__ = ["SPACES", "settings"]

Draw: TypeAlias = Callable[[Random], dict[str, Any]]


def _width(draw: Random, least: int, most: int, step: int) -> int:
    return draw.randrange(least, most + 1, step)


def _transformer(draw: Random, step: int) -> dict[str, Any]:
    heads = draw.choice([4, 8])
    return {
        "d_model": 8 * heads * (_width(draw, 32, 128, step) // 8) if step > 1 else heads * _width(draw, 32, 128, 1),
        "heads": heads,
        "d_ff": 64 * draw.randint(8, 32) if step > 1 else draw.randint(512, 2048),
        "encoder_layers": draw.randint(1, 12),
        "decoder_layers": draw.randint(1, 12),
        "source": 64 * draw.randint(1, 4),
        "target": 64 * draw.randint(1, 4),
    }


def _resnet(draw: Random, step: int) -> dict[str, Any]:
    width, size = _width(draw, 16, 128, step), 32 * draw.randint(4, 9)
    return {
        "stem": width,
        "channels": [width, 2 * width, 4 * width, 8 * width],
        "depths": [draw.randint(1, 6) for _ in range(4)],
        "classes": draw.choice([10, 100, 1000]),
        "height": size,
        "width": size,
    }


def _densenet(draw: Random, step: int) -> dict[str, Any]:
    size = 32 * draw.randint(4, 9)
    return {
        "growth_rate": _width(draw, 16, 48, step),
        "init_features": 2 * _width(draw, 16, 48, step),
        "depths": [draw.randint(4, 6), draw.randint(8, 12), draw.randint(16, 24), draw.randint(10, 16)],
        "height": size,
        "width": size,
    }


def _stack(draw: Random, step: int) -> dict[str, Any]:
    heads = draw.choice([4, 8, 12])
    width = heads * _width(draw, 32, 64, step)
    return {"heads": heads, "d_model": width, "layers": draw.randint(2, 24), "length": 64 * draw.randint(1, 8)}


def _mobilenet(draw: Random, step: int) -> dict[str, Any]:
    size = 32 * draw.randint(4, 9)
    multiplier = draw.randint(4, 16) / 8 if step > 1 else draw.randint(50, 200) / 100
    return {"multiplier": multiplier, "height": size, "width": size, "classes": draw.choice([10, 100, 1000])}


#: Settings by spec; a step above 1 draws from few numbers, as a search over multiples of 8 does.
SPACES: Mapping[str, Callable[[Random, int], dict[str, Any]]] = {
    "transformer": _transformer,
    "resnet34": _resnet,
    "densenet121": _densenet,
    "bert-base": _stack,
    "gpt2": _stack,
    "mobilenet_v2": _mobilenet,
}


def settings(spec: str, space: str, seed: int) -> dict[str, Any]:
    """Return the settings of an architecture: of widths in multiples of 8 (``search``), or of any (``drawn``)."""
    return SPACES[spec](Random(seed), 8 if space == "search" else 1)
