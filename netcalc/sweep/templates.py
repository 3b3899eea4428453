"""Lines of a spec as templates: with places for the values that differ from point to point and turn to turn.

A template has a place for each expression, or part of one, that uses no variable of a repeat inside it.  Filled in, it
becomes lines in which whole numbers are names (``a0``, ``a1``, …) and all other values are written out, so that lines
of equal structure are counted by the same closed forms.  Chances of operations that drop elements are all written as
one chance, since no figure depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

from netcalc.expressions import Expression, ExpressionError, parse
from netcalc.expressions.closures import function_of
from netcalc.expressions.rewriting import literal, rewritten
from netcalc.expressions.tree import Index, Name, Node, names_of
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE
from netcalc.spec.sketches import CHANCE, DROPS
from netcalc.sweep.columns import MOST

#: Least whole number that has a name in lines.
LEAST_NUMBER = 1 - MOST
#: Mark of a place in the text of an expression.
_MARK = "\0"
#: Modifiers that a line of a template may have; names, and what only memory follows from, are left out.
_KNOWN = frozenset({"name", "eager", "when", "repeat"})
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
#: Values of an expression that are remembered.
_MOST_KNOWN = 4_000
#: Turns of a repeat in which a chance may vary.
_MOST_TURNS = 256

#: Function of the values of names.
Read = Callable[[Mapping[str, Any]], Any]


class Roles(NamedTuple):
    """Arguments of a block by what they are for: chances, and numbers of iterations, which are written out."""

    chances: Collection[str] = ()
    counts: Collection[str] = ()


class _Fixed(NamedTuple):
    """A value that is written out, also if it is a number."""

    value: Any


class UnsuitableError(Exception):
    """A line or a value that no template has."""


class _Loop(NamedTuple):
    """A repeat inside a template.

    Attributes:
        variables: names that differ from turn to turn.
        counter: the one that counts the turns, from 0.
        times: the number of turns; None if they are not counted from 0, or run over a list.
    """

    variables: frozenset[str]
    counter: str = ""
    times: Read | None = None


_NO_LOOP = _Loop(frozenset())


class _Line(NamedTuple):
    """A line, which a value leaves out if ``is_conditional``."""

    is_conditional: bool
    data: dict[Any, Any]


class _Text(NamedTuple):
    """A text with values between its parts, each ``within`` an expression or not."""

    parts: tuple[str, ...]
    within: tuple[bool, ...]


class Template:
    """Lines with places for values.

    Args:
        lines: the lines, as in a spec.
        names: names of which values are known.
        roles: the arguments of the block of a name.

    Raises:
        UnsuitableError: the lines use more than the values of names, such as the value of an earlier line.
    """

    def __init__(self, lines: list[Any], names: Collection[str], roles: Callable[[str], Roles]) -> None:
        self._names, self._roles = frozenset(names), roles
        self._steps: list[tuple[Read, int]] = []  # and how many go with a condition that is false
        self._lines = [self._line(line, _NO_LOOP) for line in lines]

    def values(self, scope: Mapping[str, Any]) -> list[Any]:
        """Return the values for the places, but for those in lines that are left out.

        Raises:
            UnsuitableError: a chance is no number from 0 to 1.
            Exception: an expression has no value.
        """
        values, place, steps = [], 0, self._steps
        while place < len(steps):
            read, inside = steps[place]
            value = read(scope)
            values.append(value)
            place += 1 if value or not inside else 1 + inside
        return values

    def lines(self, values: list[Any]) -> list[Any]:
        """Return the lines with some values, of which whole numbers are the names ``a0``, ``a1``, ….

        Raises:
            UnsuitableError: a value that cannot be written.
        """
        try:
            return _written_lines(self._lines, iter(values), (f"a{number}" for number in count()))
        except ValueError:
            raise UnsuitableError from None

    def _line(self, line: Any, loop: _Loop) -> _Line:
        data = {line: None} if isinstance(line, str) else line
        if not isinstance(data, dict) or not {key for key in data if key in MODIFIERS} <= _KNOWN:
            raise UnsuitableError
        target, *others = [key for key in data if key not in MODIFIERS]
        if others or ("repeat" in data and (loop is not _NO_LOOP or "when" in data)):
            raise UnsuitableError
        own: dict[Any, Any] = {}
        if "repeat" in data:
            own["repeat"], loop = self._repeat(data["repeat"])
        start = len(self._steps)
        if "when" in data:
            own["when"] = self._data(_as_text(data["when"]), loop)
        is_conditional = own.get("when") == _VALUE
        if target == SEQUENCE:
            own[target] = [self._line(item, loop) for item in data[target]]
        else:
            key = self._data(target, _NO_LOOP)  # its values come first
            own[key] = self._argument(target, data[target], loop)
        if is_conditional:
            del own["when"]
            self._steps[start] = self._steps[start][0], len(self._steps) - start - 1
        return _Line(is_conditional, own)

    def _repeat(self, data: Any) -> tuple[Any, _Loop]:
        """Return a nested repeat, as it is in the lines."""
        if not isinstance(data, dict):
            own, times = self._counted(data)
            return own, _Loop(frozenset({"index"}), "index", times)
        if not set(data) <= {"times", "each", "index", "as"}:
            raise UnsuitableError
        index = data.get("index", "index")
        if "each" in data:
            each = self._data(_as_text(data["each"]), _NO_LOOP)
            return data | {"each": each}, _Loop(frozenset({index, data.get("as", "item")}))
        own, times = self._counted(data["times"])
        return data | {"times": own}, _Loop(frozenset({index}), index, times)

    def _counted(self, times: Any) -> tuple[Any, Read]:
        own = self._data(_as_text(times), _NO_LOOP)
        return own, self._steps[-1][0] if own == _VALUE else lambda scope: times

    def _argument(self, target: str, data: Any, loop: _Loop) -> Any:
        if not isinstance(data, dict):
            return self._chance(data, loop) if target in DROPS else self._data(data, loop)
        roles = self._roles(target)
        own = {}
        for key, value in data.items():
            of = self._chance if key in roles.chances else self._count if key in roles.counts else self._data
            own[self._data(key, loop)] = of(value, loop)
        return own

    def _count(self, data: Any, loop: _Loop) -> Any:
        """Return a number of iterations."""
        own = self._data(data, loop)
        if own == _VALUE:
            read = self._steps[-1][0]
            self._steps[-1] = (lambda scope: _Fixed(read(scope))), 0
        return own

    def _data(self, data: Any, loop: _Loop) -> Any:
        """Return data with places for the values of its expressions."""
        if isinstance(data, dict):
            return {self._data(key, loop): self._data(value, loop) for key, value in data.items()}
        if isinstance(data, list):
            return [self._data(item, loop) for item in data]
        if not isinstance(data, str) or "${" not in data:
            return data
        pieces = _PLACEHOLDER.split(data)
        parts, within = [pieces[0]], []
        for expression, after in zip(pieces[1::2], pieces[2::2], strict=True):
            root = _parsed(expression).root
            if names_of(root).isdisjoint(loop.variables):
                self._place(root)
                within.append(False)
                parts.append(after)
            else:
                inner = rewritten(root, loop.variables, self._place).split(_MARK)
                within += [True] * (len(inner) - 1)
                parts[-1] += "${" + inner[0]
                parts += inner[1:]
                parts[-1] += "}" + after
        return _Text(tuple(parts), tuple(within))

    def _place(self, node: Node) -> str:
        """Add a place for the value of an expression, and return the mark of it."""
        if not names_of(node) <= self._names:
            raise UnsuitableError
        self._steps.append((Remembered(node).value, 0))
        return _MARK

    def _chance(self, data: Any, loop: _Loop) -> Any:
        """Return a chance: one for all, after it has been found to be a chance."""
        whole = _PLACEHOLDER.fullmatch(data) if isinstance(data, str) else None
        root = None if whole is None else _parsed(whole[1]).root
        if root is None or not names_of(root) & loop.variables:
            own = self._data(data, loop)
            if own == _VALUE:
                read = self._steps[-1][0]
                self._steps[-1] = (lambda scope: _one_for_all(read(scope))), 0
            return own
        if loop.times is None or not names_of(root) <= self._names | {loop.counter}:
            return self._data(data, loop)
        self._steps.append((_Chances(root, loop.counter, loop.times), 0))
        return _VALUE


_VALUE = _Text(("", ""), (False,))


def _as_text(data: Any) -> Any:
    """Return an expression that may stand without ``${}`` with it."""
    return f"${{{data}}}" if isinstance(data, str) and "${" not in data else data


def _parsed(text: str) -> Expression:
    try:
        return parse(text)
    except ExpressionError:
        raise UnsuitableError from None


def reader(data: Any, names: Collection[str], *, is_expression: bool = False) -> Read:
    """Return the function that evaluates data of a spec.

    Raises:
        UnsuitableError: the data use more than the values of ``names``.
    """
    if isinstance(data, list):
        items = [reader(item, names) for item in data]
        return lambda scope: [item(scope) for item in items]
    text = _as_text(data) if is_expression else data
    if not isinstance(text, str) or "${" not in text:
        return lambda scope: data
    whole = _PLACEHOLDER.fullmatch(text)
    root = None if whole is None else _parsed(whole[1]).root
    if root is None or not names_of(root) <= {*names}:
        raise UnsuitableError
    return Remembered(root).value


# -- values -----------------------------------------------------------------------------------------------


class Remembered:
    """Value of an expression, which is remembered by the values that it reads.

    Raises:
        UnsuitableError: the expression needs more than the values of names.
    """

    __slots__ = ("_function", "_known", "_reads")

    def __init__(self, node: Node) -> None:
        function = function_of(node)
        if function is None:
            raise UnsuitableError
        self._function: Read = function
        self._reads: list[Read] = (
            [] if _is_path(node) else [read for part in _paths(node) if (read := function_of(part))]
        )
        self._known: dict[Any, Any] = {}

    def value(self, scope: Mapping[str, Any]) -> Any:
        """Return the value; an error of the expression is raised as it is."""
        if not self._reads:
            return self._function(scope)
        read = [read(scope) for read in self._reads]
        key = (*read, *map(type, read))  # 1, 1.0 and true are equal
        try:
            return self._known[key]
        except KeyError:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            value = self._known[key] = self._function(scope)
            return value
        except TypeError:  # a list among them
            return self._function(scope)


def _is_path(node: Node) -> bool:
    """Return True for a name, or an item of one at fixed places, such as ``rows[-1][2]``."""
    if isinstance(node, Index):
        return not names_of(node.index) and _is_path(node.value)
    return isinstance(node, Name)


def _paths(node: Node) -> Iterator[Node]:
    """Yield the largest parts of an expression that are paths."""
    if _is_path(node):
        yield node
    else:
        for child in node.children:
            yield from _paths(child)


class _Chances:
    """The one chance for all, where an expression is a chance in all turns."""

    def __init__(self, node: Node, index: str, times: Read) -> None:
        function = function_of(node)
        if function is None:
            raise UnsuitableError
        self._function, self._index, self._times = function, index, times

    def __call__(self, scope: Mapping[str, Any]) -> float:
        times = self._times(scope)
        if times > _MOST_TURNS:
            raise UnsuitableError
        own = dict(scope)
        for own[self._index] in range(times):
            if _one_for_all(self._function(own)) is not CHANCE:
                raise UnsuitableError
        return CHANCE


def _one_for_all(value: Any) -> Any:
    return CHANCE if type(value) is float and 0 <= value <= 1 else value


# -- writing ----------------------------------------------------------------------------------------------


def _written_lines(lines: list[_Line], values: Iterator[Any], names: Iterator[str]) -> list[Any]:
    return [_written_line(line.data, values, names) for line in lines if not line.is_conditional or next(values)]


def _written_line(data: dict[Any, Any], values: Iterator[Any], names: Iterator[str]) -> dict[str, Any]:
    """Return a line, with the arguments that come with the value in the place of its operation or block."""
    line = {}
    for key, value in data.items():
        target, argument = _written(key, values, names), _written(value, values, names)
        if isinstance(target, dict) and len(target) == 1:
            ((target, defaults),) = target.items()
            both = isinstance(defaults, dict) and isinstance(argument, dict)
            argument = {**defaults, **argument} if both else argument or defaults
        if not isinstance(target, str):
            raise ValueError(f"{target!r} is no operation or block")
        line[target] = argument
    return line


def _written(data: Any, values: Iterator[Any], names: Iterator[str]) -> Any:
    """Return data with values in its places."""
    if isinstance(data, _Text):
        if data == _VALUE:
            return _named(next(values), names)
        text = data.parts[0]
        for is_within, part in zip(data.within, data.parts[1:], strict=True):
            value = next(values)
            if is_number(value):
                text += next(names) if is_within else f"${{{next(names)}}}"
            else:
                text += literal(value) if is_within else str(value)
            text += part
        return text
    if isinstance(data, dict):
        return {_written(key, values, names): _written(value, values, names) for key, value in data.items()}
    if isinstance(data, list):
        if data and all(isinstance(item, _Line) for item in data):
            return _written_lines(data, values, names)
        return [_written(item, values, names) for item in data]
    return data


def is_number(value: Any) -> bool:
    """Return True for a whole number that has a name in lines."""
    return type(value) is int and LEAST_NUMBER <= value < MOST


def _named(value: Any, names: Iterator[str]) -> Any:
    """Return a value with names for the whole numbers in it and in its lists."""
    if isinstance(value, _Fixed):
        return _plain(value.value)
    if is_number(value):
        return f"${{{next(names)}}}"
    if type(value) in (list, tuple):
        return [_named(item, names) for item in value]
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise ValueError(f"no data of {value!r}")
