"""Activations that are written out in arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from netcalc.formats.graph.model import Value
from netcalc.formats.graph.simplify.pattern import Found, Pattern, either, idiom, near, op, square
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule


def _scaled(x: str | Pattern, number: float) -> Pattern:
    return either(op("mul", x, value=near(number)), op("div", x, value=near(1 / number)))


def _halved_product(x: str, other: Pattern) -> Pattern:
    """Return the pattern of ½·x·other, in any order."""
    return either(
        op("mul", _scaled(x, 0.5), other), op("mul", x, _scaled(other, 0.5)), _scaled(op("mul", x, other), 0.5)
    )


_SQUARE = square("x")
_CUBE = either(op("pow", "x", value=3), op("mul", _SQUARE, "x"))
_CUBED_TERM = either(_scaled(_CUBE, 0.044715), op("mul", op("mul", _scaled("x", 0.044715), "x"), "x"))
_SQUARED_TERM = either(_scaled(_SQUARE, 0.044715), op("mul", _scaled("x", 0.044715), "x"))
_ROOT = math.sqrt(2 / math.pi)
_TANH = op(
    "tanh",
    either(
        _scaled(either(op("add", "x", _CUBED_TERM), op("mul", "x", op("add", _SQUARED_TERM, value=1))), _ROOT),
        op("mul", _scaled("x", _ROOT), op("add", _SQUARED_TERM, value=1)),
    ),
)
_RELU6 = either(op("relu6", op("add", "x", value=3)), op("clamp|hardtanh", op("add", "x", value=3), min=0, max=6))
_RELU = op("relu", "x")

#: Operations with their attributes, by patterns of what they compute.
_WRITTEN_OUT: tuple[tuple[Pattern, str, Mapping[str, Any]], ...] = (
    (op("mul", "x", op("sigmoid", "x")), "silu", {}),
    (op("mul", "x", op("sigmoid", _scaled("x", 1.702))), "quick_gelu", {}),
    (_halved_product("x", op("add", _TANH, value=1)), "gelu", {"approximate": "tanh"}),
    (_halved_product("x", op("add", op("erf", _scaled("x", math.sqrt(0.5))), value=1)), "gelu", {}),
    (op("mul", "x", op("tanh", op("softplus", "x"))), "mish", {}),
    (either(op("mul", "x", op("hardsigmoid", "x")), _scaled(op("mul", "x", _RELU6), 1 / 6)), "hardswish", {}),
    (_scaled(_RELU6, 1 / 6), "hardsigmoid", {}),
    (either(op("square", _RELU), op("pow", _RELU, value=2)), "squared_relu", {}),
)


def _activation(name: str, attributes: Mapping[str, Any]) -> Callable[[Rewriter, Found], Value]:
    return lambda work, match: work.build.line(name, [match.values["x"]], attributes)


IDIOMS: tuple[Mapping[str, Rule], ...] = tuple(
    idiom(pattern, _activation(name, attributes)) for pattern, name, attributes in _WRITTEN_OUT
)
