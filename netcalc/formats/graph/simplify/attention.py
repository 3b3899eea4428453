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


def _scaled(x: Pattern) -> Pattern:
    return either(op("mul", x, value=Named("scale")), op("div", x, value=Named("divisor")), x)


def _capped(x: Pattern) -> Pattern:
    return either(op("mul", op("tanh", op("div", x, value=Named("softcap"))), value=Named("softcap")), x)


_SCORES = _capped(_scaled(op("matmul", "query", "turned")))
_MASKED = either(op("add", _SCORES, "mask"), _SCORES)
_WEIGHTS = optional("dropout", op("softmax", _MASKED, axis=last_axis), p=Named("dropout"))


def attention(work: Rewriter, match: Found) -> Value | None:
    """Return softmax(query·keyᵀ·scale + mask)·value as one operation."""
    scale, divisor = match.number("scale", 1), match.number("divisor", 1)
    if isinstance(scale, Poly) or isinstance(divisor, Poly) or not divisor:
        return None
    key = work.build.line("transpose", [match.values["turned"]], {"axes": [-2, -1]})
    inputs = [match.values["query"], key, match.values["value"], match.values.get("mask")]
    attributes = {
        "scale": scale / divisor,
        "softcap": match.number("softcap"),
        "dropout": match.number("dropout") or None,
    }
    return work.build.line(_ATTENTION, given(inputs), attributes)


def scale_in_attention(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Let attention scale its scores where queries or keys are multiplied by a number."""
    query, key, *others = line.inputs
    size = None if query is None else query.type.shape[-1]
    scale = line.attributes.get("scale", size**-0.5 if isinstance(size, int) else None)
    plain, factor = _unscaled(work, query, line)
    other, another = _unscaled(work, key, line)
    if scale is None or factor * another == 1:
        return None
    attributes = {**line.attributes, "scale": scale * factor * another}
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
