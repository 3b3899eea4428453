"""Attention that is written out in products and a softmax, and what goes into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.dims import Poly, exact_div
from netcalc.formats.graph.model import Line, Value, given
from netcalc.formats.graph.simplify.pattern import (
    Found,
    Named,
    Pattern,
    anything,
    either,
    idiom,
    last_axis,
    named,
    op,
    optional,
)
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule

_ATTENTION = "scaled_dot_product_attention"
#: Relative error of a product of numbers of 32 bits.
_ROUNDING = 4 * 2.0**-24


def _scaled(x: Pattern) -> Pattern:
    return either(op("mul", x, value=Named("scale")), op("div", x, value=Named("divisor")), x)


def _capped(x: Pattern) -> Pattern:
    return either(op("mul", op("tanh", op("div", x, value=Named("softcap"))), value=Named("softcap")), x)


_SCORES = _capped(_scaled(op("matmul", "query", "turned")))
_MASKED = either(op("add", _SCORES, "mask"), _SCORES)
_SOFTMAX = op("softmax", _MASKED, axis=last_axis)
#: Zeros in rows without any key, as exporters write attention out.
_SAFE = op("masked_fill", named("weights", _SOFTMAX), op("not_equal", "weights", "weights"), value=0)
_WEIGHTS = optional("dropout", either(_SAFE, _SOFTMAX), p=Named("dropout"))


def attention(work: Rewriter, match: Found) -> Value | None:
    """Return softmax(query·keyᵀ·scale + mask)·value as one operation."""
    scale, divisor = match.number("scale", 1), match.number("divisor", 1)
    if isinstance(scale, Poly) or isinstance(divisor, Poly) or not divisor:
        return None
    turned, factor = _times_number(work, match.values["turned"])
    key = work.build.line("transpose", [turned], {"axes": [-2, -1]})
    inputs = [match.values["query"], key, match.values["value"], match.values.get("mask")]
    attributes = {
        "scale": _written(scale / divisor * factor, match.values["query"].type.shape[-1]),
        "softcap": match.number("softcap"),
        "dropout": match.number("dropout") or None,
    }
    return work.build.line(_ATTENTION, given(inputs), attributes)


def _written(scale: float, size: Any) -> float | None:
    """Return a scale; None for the default, also where it is the product of two roots in 32 bits."""
    usual = isinstance(size, int) and abs(scale * size**0.5 - 1) < _ROUNDING
    return None if usual and scale != size**-0.5 else scale


def _times_number(work: Rewriter, value: Value) -> tuple[Value, float]:
    """Return the value that a line multiplies by a number, and the number; any other value with 1."""
    maker = work.maker(value)
    if maker is None or maker.operation != "mul" or set(maker.attributes) != {"value"} or len(maker.inputs) != 1:
        return value, 1.0
    number, source = maker.attributes["value"], maker.inputs[0]
    is_plain = source is not None and source.type == value.type and not isinstance(number, Poly)
    return (source, float(number)) if source is not None and is_plain else (value, 1.0)


def scale_in_attention(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Let attention scale its scores where queries or keys are multiplied by a number."""
    query, key, *others = line.inputs
    size = None if query is None else query.type.shape[-1]
    scale = line.attributes.get("scale", size**-0.5 if isinstance(size, int) else None)
    plain, factor = _unscaled(work, query, line)
    other, another = _unscaled(work, key, line)
    if scale is None or factor * another == 1:
        return None
    attributes = {**line.attributes, "scale": _written(scale * factor * another, size)}
    return work.build.lines(line.operation, [plain, other, *others], attributes)


def _unscaled(work: Rewriter, value: Value | None, user: Line) -> tuple[Value | None, float]:
    """Return the value that a number multiplies or divides for one line alone, and the factor."""
    maker = work.maker(value)
    if maker is None or maker.operation not in ("mul", "div") or set(maker.attributes) != {"value"}:
        return value, 1.0
    number, source = maker.attributes["value"], maker.inputs[0]
    if isinstance(number, Poly) or not number or len(maker.inputs) != 1 or source is None:
        return value, 1.0
    if work.only_user(maker.outputs[0]) is not user or maker.outputs[0].type != source.type:
        return value, 1.0
    return source, float(number if maker.operation == "mul" else 1 / number)


def shared_heads(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Let queries share the heads of keys and values, instead of repeating these."""
    query, key, value, *others = line.inputs
    if line.attributes.get("enable_gqa") or query is None or query.type.rank < 3:
        return None
    single = {x: _before_repeats(work, x) for x in dict.fromkeys((key, value))}
    heads = [single[key], single[value]]
    if heads[0] is None or heads[1] is None:
        return None
    if any(exact_div(query.type.shape[-3], x.type.shape[-3]) is None for x in heads if x is not None):
        return None
    return work.build.lines(line.operation, [query, *heads, *others], {**line.attributes, "enable_gqa": True})


def _before_repeats(work: Rewriter, value: Value | None) -> Value | None:
    """Return the value whose heads, each n times in a row, are the heads of another value; None if there is none."""
    maker = work.maker(value)
    if value is None or maker is None:
        return None
    if maker.operation == "repeat_interleave":
        attributes: Any = work.operation(maker)
        source = maker.inputs[0]
        axis = attributes.axis
        fits = axis is not None and axis % value.type.rank == value.type.rank - 3 and len(attributes.repeats) == 1
        return source if fits else None
    for match in _REPEATED.matches(work, value, Found()):
        single_heads, repeated = match.values["one"], match.values["repeated"].type.shape
        *before, heads, single, length, size = (0, 0, 0, 0, *single_heads.type.shape)
        fits = single == 1 and repeated == (*before[4:], heads, repeated[-3], length, size)
        if fits and value.type.shape == (*before[4:], heads * repeated[-3], length, size):
            return work.build.line("squeeze", [single_heads], {"axis": -3})
    return None


_REPEATED = op(
    "flatten|reshape",
    named("repeated", op("expand", "one", shape=anything)),
    shape=anything,
    start_axis=anything,
    end_axis=anything,
)

IDIOMS: tuple[Mapping[str, Rule], ...] = (idiom(op("matmul", _WEIGHTS, "value"), attention),)

RULES: Mapping[str, Sequence[Rule]] = {_ATTENTION: [scale_in_attention, shared_heads]}
