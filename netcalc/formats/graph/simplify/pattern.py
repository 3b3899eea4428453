"""Patterns of lines: an operation with its attributes, applied to patterns or to any value.

``op("mul", "x", op("sigmoid", "x"))`` is the product of a value and its sigmoid, in either order.  A text is a name for
a value, equal in all its places; an attribute is compared with a number, given a name by :class:`Named`, or tested by a
function.  Attributes that a pattern does not mention have their defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple, TypeAlias

from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule, common_scope

#: Operations whose operands may come in any order.
_COMMUTE = frozenset({"add", "mul", "minimum", "maximum", "logical_and", "logical_or"})


class Found(NamedTuple):
    """The values and attributes that a pattern names, and the lines that it matched, the root last."""

    values: Mapping[str, Value] = {}
    attributes: Mapping[str, Any] = {}
    lines: tuple[Line, ...] = ()

    def bind(self, name: str, value: Value) -> Found | None:
        """Return the match with a named value; None if the name stands for another value."""
        bound = self.values.get(name)
        if bound is None:
            return self._replace(values={**self.values, name: value})
        return self if bound is value or (bound.stored is not None and bound.stored == value.stored) else None

    def number(self, name: str, default: Any = None) -> Any:
        """Return a named attribute; the default if the pattern met none."""
        return self.attributes.get(name, default)


class Named(NamedTuple):
    """A name for an attribute that is set."""

    name: str


class Pattern(NamedTuple):
    """A kind of value; ``matches`` yields the ways in which one is of this kind."""

    matches: Callable[[Rewriter, Value, Found], Iterator[Found]]
    operations: tuple[str, ...] = ()


Operand: TypeAlias = Pattern | str


def op(operations: str, *inputs: Operand, **attributes: Any) -> Pattern:
    """Return the pattern of an operation; ``operations`` may name several, with bars between."""
    names = tuple(operations.split("|"))

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        line = work.maker(value)
        if line is None or line.operation not in names or line.outputs[0] is not value:
            return
        present = [x for x in line.inputs if x is not None]
        bound = _attributes(work, line, attributes, match) if len(present) == len(inputs) else None
        if bound is None:
            return
        orders = permutations(present) if line.operation in _COMMUTE else [tuple(present)]
        for order in orders:
            for operands in _all_matches(work, tuple(zip(inputs, order, strict=True)), bound):
                yield operands._replace(lines=(*operands.lines, line))

    return Pattern(matches, names)


def either(*patterns: Pattern) -> Pattern:
    """Return the pattern of a value that one of several fits; the first one that does counts."""

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        for pattern in patterns:
            yield from pattern.matches(work, value, match)

    return Pattern(matches, tuple(name for pattern in patterns for name in pattern.operations))


def optional(operations: str, inner: Operand, **attributes: Any) -> Pattern:
    """Return the pattern of a value to which an operation with one input may have been applied."""
    applied = op(operations, inner, **attributes)

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        yield from applied.matches(work, value, match)
        yield from _operand(work, inner, value, match)

    return Pattern(matches, applied.operations)


def square(x: Operand) -> Pattern:
    """Return the pattern of the square of a value."""
    return either(op("square", x), op("pow", x, value=2), op("mul", x, x))


def named(name: str, pattern: Pattern) -> Pattern:
    """Return a pattern with a name for the value that fits it."""

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        for inner in pattern.matches(work, value, match):
            bound = inner.bind(name, value)
            if bound is not None:
                yield bound

    return Pattern(matches, pattern.operations)


def parameter(name: str) -> Pattern:
    """Return the pattern of a trained tensor of the checkpoint, which is bound as one that no line reads."""

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        line = work.maker(value)
        if line is not None and line.operation == "parameter":
            bound = match.bind(name, Value(value.type, value.hint, line.parameters[""]))
            if bound is not None:
                yield bound

    return Pattern(matches, ("parameter",))


def idiom(pattern: Pattern, replacement: Callable[[Rewriter, Found], Value | None]) -> dict[str, Rule]:
    """Return rules that put the result of a function in place of the lines that match, if nothing else uses them."""

    def rule(work: Rewriter, line: Line) -> Sequence[Value] | None:
        for match in pattern.matches(work, line.outputs[0], Found()):
            if _closed(work, match.lines):
                work.build.scope = common_scope(match.lines)
                result = replacement(work, match)
                if result is not None and result.type == line.outputs[0].type:
                    return [result, *line.outputs[1:]]
        return None

    return dict.fromkeys(pattern.operations, rule)


def anything(value: Any, line: Line) -> bool:
    """Return True: an attribute that does not matter."""
    return True


def near(number: float) -> Callable[[Any, Line], bool]:
    """Return a test of an attribute for a number, which may be rounded to the precision of float32."""

    def test(value: Any, line: Line) -> bool:
        return isinstance(value, (int, float)) and math.isclose(value, number, rel_tol=1e-6)

    return test


def last_axis(axes: Any, line: Line) -> bool:
    """Return True for the last axis of a line's first input, as a number or a list of one."""
    (source, *_) = line.inputs
    listed = axes if isinstance(axes, tuple) else (axes,)
    return source is not None and len(listed) == 1 and listed[0] in (-1, source.type.rank - 1)


def _closed(work: Rewriter, lines: Sequence[Line]) -> bool:
    """Return True if the values of all lines but the last are used by these lines only."""
    return not any(
        work.is_result(value) or any(user not in lines for user in work.users(value))
        for line in lines[:-1]
        for value in line.outputs
    )


def _all_matches(work: Rewriter, pairs: Sequence[tuple[Operand, Value]], match: Found) -> Iterator[Found]:
    if not pairs:
        yield match
        return
    (pattern, value), *others = pairs
    for extended in _operand(work, pattern, value, match):
        yield from _all_matches(work, others, extended)


def _operand(work: Rewriter, pattern: Operand, value: Value, match: Found) -> Iterator[Found]:
    if not isinstance(pattern, str):
        yield from pattern.matches(work, value, match)
    elif (bound := match.bind(pattern, value)) is not None:
        yield bound


def _attributes(work: Rewriter, line: Line, wanted: Mapping[str, Any], match: Found) -> Found | None:
    """Return the match with the named attributes of a line; None if an attribute is another one."""
    operation = work.operation(line)
    named = dict(match.attributes)
    for name, field in type(operation).model_fields.items():
        value, want = getattr(operation, name), wanted.get(name, field.default)
        if name not in wanted and name not in operation.model_fields_set:
            continue
        if isinstance(want, Named):
            if value is None or named.setdefault(want.name, value) != value:
                return None
        elif not (want(value, line) if callable(want) else value == want):
            return None
    return match._replace(attributes=named)
