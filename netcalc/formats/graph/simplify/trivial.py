"""Operations that change nothing, and settings that are the default."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.dims import product
from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule, source_of

#: The number that each operation may take as its value without an effect.
_NEUTRAL: Mapping[str, float] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "pow": 1}

#: Operations that broadcast their inputs, so that these need not be expanded before.
_BROADCASTING = (
    *("add", "sub", "mul", "div", "pow", "minimum", "maximum", "where", "masked_fill"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or"),
)


def same_type(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out a cast to the type that a value has."""
    source = source_of(line)
    return [source] if source.type == line.outputs[0].type else None


def neutral_number(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out a sum with 0 and a product with 1."""
    attributes: Any = work.operation(line)
    others = {name for name in line.attributes if name != "value"}
    if len(line.inputs) != 1 or others or attributes.value != _NEUTRAL[line.operation]:
        return None
    return same_type(work, line)


def no_dropout(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out dropout that drops nothing."""
    attributes: Any = work.operation(line)
    return None if attributes.p else [source_of(line)]


def whole_range(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out a slice that takes everything."""
    attributes: Any = work.operation(line)
    return same_type(work, line) if set(attributes.start) <= {0} and set(attributes.step) == {1} else None


def growing(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Append to an earlier concatenation of the first tensors instead of joining all of them again."""
    inputs = line.inputs
    while (earlier := _earlier_join(work, line, inputs)) is not None:
        inputs = (earlier.outputs[0], *inputs[len(earlier.inputs) :])
    if inputs is line.inputs:
        return None
    work.build.scope, work.build.hint = line.scope, line.outputs[0].hint
    return [work.build.line(line.operation, inputs, line.attributes)]


def _earlier_join(work: Rewriter, line: Line, inputs: Sequence[Value | None]) -> Line | None:
    """Return the line before that joins most of the first tensors along the same axis."""
    first = inputs[0]
    candidates = [
        user
        for user in ([] if first is None else work.users(first))
        if user.operation == line.operation
        and user.attributes == line.attributes
        and 1 < len(user.inputs) < len(inputs)
        and user.inputs == inputs[: len(user.inputs)]
        and user in work.build.graph.lines
    ]
    return max(candidates, key=lambda user: len(user.inputs), default=None)


def one_part(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out the concatenation of a single tensor, and the division into a single part."""
    return [source_of(line)] if len(line.inputs) == 1 and len(line.outputs) == 1 else None


def one_expansion(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out an expansion to the shape that a tensor has, and join two of them."""
    source = source_of(line)
    if source.type == line.outputs[0].type:
        return [source]
    maker = work.maker(source)
    if maker is None or maker.operation != "expand" or maker.scope != line.scope:
        return None
    inner, outer = maker.attributes["shape"], line.attributes["shape"]
    added = len(outer) - len(inner)
    sizes = [inner[axis - added] if size == -1 else size for axis, size in enumerate(outer)]
    return [work.build.line("expand", [source_of(maker)], {"shape": sizes})]


def broadcast_by_itself(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Use tensors as they are where an operation expands them itself, to the same result."""
    for place, value in enumerate(line.inputs):
        maker = work.maker(value)
        if value is None or maker is None or not _repeats(maker):
            continue
        if maker.operation != "expand" and work.only_user(value) is not line:
            continue
        inputs = [*line.inputs[:place], maker.inputs[0], *line.inputs[place + 1 :]]
        if work.types(line, inputs) == [value.type for value in line.outputs]:
            return work.again(line, *inputs)
    return None


def _repeats(line: Line) -> bool:
    """Return True for views that broadcasting implies: repeated axes, and new ones in front."""
    return line.operation == "expand" or (line.operation == "unsqueeze" and line.attributes["axis"] == 0)


def default_settings(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Leave out the scale of attention that is the default, and the sharing of keys among equally many queries."""
    query, key, value = line.inputs[:3]
    assert query is not None and key is not None and value is not None
    attributes = dict(line.attributes)
    size = query.type.shape[-1]
    if isinstance(size, int) and attributes.get("scale") and math.isclose(attributes["scale"], size**-0.5):
        del attributes["scale"]
    heads = {product(x.type.shape[-3:-2]) for x in (query, key, value)}
    if attributes.get("enable_gqa") and len(heads) == 1:
        del attributes["enable_gqa"]
    inputs = list(line.inputs)
    mask = work.maker(inputs[3]) if len(inputs) > 3 else None
    if mask is not None and _repeats(mask):
        inputs[3] = mask.inputs[0]
    if attributes == line.attributes and inputs == list(line.inputs):
        return None
    return work.build.lines(line.operation, inputs, attributes)


RULES: Mapping[str, Sequence[Rule]] = {
    "cast": [same_type],
    "identity": [same_type],
    "dropout": [no_dropout],
    "stochastic_depth": [no_dropout],
    "slice": [whole_range],
    "concat": [one_part, growing],
    "chunk": [one_part],
    "split": [one_part],
    "expand": [one_expansion],
    "scaled_dot_product_attention": [default_settings],
    **{name: [broadcast_by_itself] for name in _BROADCASTING},
}
RULES = {**RULES, **{name: [neutral_number, *RULES.get(name, ())] for name in _NEUTRAL}}
