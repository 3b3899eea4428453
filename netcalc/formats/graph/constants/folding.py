"""Operations some of whose inputs are constant, in a shorter form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.constants.expressions import (
    Expression,
    Progression,
    never_negative,
    number_of,
    progression,
    truth,
)
from netcalc.formats.graph.constants.views import indexed_axes
from netcalc.formats.graph.model import Graph, Line, Stored, Value

#: The attributes of an embedding without norms and scale.
_PLAIN_TABLE = {"num_embeddings", "embedding_dim"}


class Folding:
    """A pass over the lines of a graph that replaces some of them.

    Attributes:
        known: the elements of constant values.
        build: adds lines to those that replace the graph's.
    """

    def __init__(self, graph: Graph, constants: dict[Value, Expression]) -> None:
        self.graph = graph
        self.known = constants
        self.uses = Counter(value for line in graph.lines for value in line.inputs if value is not None)
        self.uses.update(graph.results)
        self.makers: dict[Value, Line] = {}
        self.lines: list[Line] = []
        self.build = Builder(Graph("", tensors=graph.tensors, lines=self.lines))
        self._replaced: dict[Value, Value] = {}

    def run(self) -> None:
        """Replace the lines of the graph."""
        for line in self.graph.lines:
            line.inputs = tuple(value if value is None else self._replaced.get(value, value) for value in line.inputs)
            shorter = self._shorter(line)
            if shorter is None:
                self.lines.append(line)
                self.makers.update(dict.fromkeys(line.outputs, line))
            else:
                self._replaced[line.outputs[0]] = shorter
                self.uses[shorter] += self.uses[line.outputs[0]]
        self.graph.lines[:] = self.lines
        self.graph.replace_results(self._replaced)

    def _shorter(self, line: Line) -> Value | None:
        if line.operation not in _RULES or line.outputs[0] in self.known:
            return None
        count = len(self.lines)
        self.build.scope, self.build.hint = line.scope, line.outputs[0].hint
        try:
            shorter = _RULES[line.operation](self, line)
        except RuleError:  # the operation does not take these sizes
            shorter = None
        if shorter is None:
            del self.lines[count:]
        for added in self.lines[count:]:
            self.makers.update(dict.fromkeys(added.outputs, added))
        return shorter

    def number(self, value: Value | None) -> float | int | bool | None:
        """Return the number that all elements of a value are; None if there is none."""
        return number_of(self.known.get(value)) if value is not None else None

    def progression(self, value: Value | None) -> Progression | None:
        """Return the progression that the elements of a value are; None if they are none."""
        return progression(self.known.get(value)) if value is not None else None


def fold_operands(graph: Graph, constants: dict[Value, Expression]) -> None:
    """Leave out constant operands that change nothing, and write others as attributes.

    Args:
        graph: the graph, whose lines are changed; lines that are not used any more stay.
        known: the elements of its constant values.
    """
    Folding(graph, constants).run()


def _logical(fold: Folding, line: Line) -> Value | None:
    """Return the only operand of a conjunction or disjunction that is not neutral."""
    neutral = truth(line.operation == "logical_and")
    rest = [value for value in line.inputs if value is not None and fold.known.get(value) != neutral]
    return _spread_value(fold, rest[0], line) if len(rest) == 1 else None


def _spread_value(fold: Folding, value: Value | None, line: Line) -> Value | None:
    """Return a value with the shape of the result of a line; None if it has another type."""
    result = line.outputs[0].type
    if value is None or value.type.dtype != result.dtype:
        return None
    if value.type == result:
        return value
    front = len(result.shape) - len(value.type.shape)
    unchanged = [place >= front and value.type.shape[place - front] == size for place, size in enumerate(result.shape)]
    shape = [-1 if same else size for same, size in zip(unchanged, result.shape, strict=True)]
    return fold.build.line("expand", [value], {"shape": shape})


def _where(fold: Folding, line: Line) -> Value | None:
    condition = fold.number(line.inputs[0])
    if not isinstance(condition, bool):
        return None
    return _spread_value(fold, line.inputs[1] if condition else line.inputs[2], line)


def _masked_fill(fold: Folding, line: Line) -> Value | None:
    return _spread_value(fold, line.inputs[0], line) if fold.number(line.inputs[1]) is False else None


def _arithmetic(fold: Folding, line: Line) -> Value | None:
    """Return an operand to which a neutral number is applied, or apply a number as an attribute."""
    if len(line.inputs) != 2 or line.attributes:
        return _positions(fold, line)
    for place, other in ((1, 0), (0, 1)):
        number, value = fold.number(line.inputs[place]), line.inputs[other]
        if number is None or isinstance(number, bool) or value is None or value.type != line.outputs[0].type:
            continue
        if number == _NEUTRAL.get(line.operation) and (line.operation != "sub" or place == 1):
            return value
        if number - number == 0:
            reverse = True if line.operation in ("sub", "div", "pow") and place == 0 else None
            return fold.build.line(line.operation, [value], {"value": number, "reverse": reverse})
    return _positions(fold, line)


_NEUTRAL = {"add": 0, "sub": 0, "mul": 1}


def _index(fold: Folding, line: Line) -> Value | None:
    """Return ``x[i, j]`` with indices that count along axes of the result as x with axes of size 1."""
    x, result = line.inputs[0], line.outputs[0].type
    if x is None or len(line.inputs) < 2:
        return None
    rank, sizes = len(x.type.shape), result.shape
    axes = line.attributes["axis"]
    named = [axis % rank for axis in (axes if isinstance(axes, (list, tuple)) else [axes])]
    layout = indexed_axes(named, rank, len(sizes))
    places = dict(layout.kept)
    for axis, value in zip(named, line.inputs[1:], strict=True):
        counted = fold.progression(value)
        if value is None or counted is None or counted.step != 1 or not never_negative(counted.start):
            return None
        places[axis] = layout.stop - len(value.type.shape) + counted.axis
        length = sizes[places[axis]]
        if counted.start != 0 or length != x.type.shape[axis]:
            x = fold.build.line("slice", [x], _range(axis, counted.start, length, x.type.shape[axis]))
    order = [places[axis] for axis in range(rank)]
    if order != sorted(set(order)) or any(x.type.shape[axis] != sizes[place] for axis, place in places.items()):
        return None
    if any(size != 1 for place, size in enumerate(sizes) if place not in order):
        return None
    for place in range(len(sizes)):
        if place not in order:
            x = fold.build.line("unsqueeze", [x], {"axis": place})
    return x


def _range(axis: int, start: Dim, length: Dim, size: Dim) -> dict[str, Any]:
    stop = start + length
    return {"axis": axis, "start": None if start == 0 else start, "stop": None if stop == size else stop}


def _positions(fold: Folding, line: Line) -> Value | None:
    """Return ``x + rows of a table for the positions 0, 1, …`` as one operation."""
    if line.operation != "add" or len(line.inputs) != 2 or line.attributes:
        return None
    for place, other in ((1, 0), (0, 1)):
        rows, x = line.inputs[place], line.inputs[other]
        table = fold.makers.get(rows) if rows is not None else None
        if x is None or rows is None or table is None or x.type != line.outputs[0].type or fold.uses[rows] != 1:
            continue
        weight, offset = _rows(fold, table) or (None, None)
        if weight is None or offset is None or x.type.shape[-2:] != rows.type.shape[-2:]:
            continue
        attributes = {"max_length": weight.type.shape[0], "offset": offset or None}
        fold.build.scope, fold.build.hint = table.scope, rows.hint
        return fold.build.line("learned_positions", [x], attributes, {"weight": weight})
    return None


def _rows(fold: Folding, line: Line) -> tuple[Value, int | None] | None:
    """Return the stored table of a look-up, and the first of successive rows that it takes."""
    first: int | None = None
    if line.operation == "embedding" and line.attributes.keys() - {"padding_idx"} == _PLAIN_TABLE:
        stored, first = line.parameters["weight"], _first_position(fold, line.inputs[0])
    else:
        maker = fold.makers.get(line.inputs[0]) if line.inputs and line.inputs[0] is not None else None
        if maker is None or maker.operation != "parameter" or not maker.parameters[""].path.endswith(".weight"):
            return None
        stored = maker.parameters[""]
        if line.operation == "slice" and line.attributes.get("axis") == 0 and line.attributes.get("step", 1) == 1:
            start = line.attributes.get("start", 0)
            first = start if isinstance(start, int) and start >= 0 else None
        elif line.operation == "index" and line.attributes in ({"axis": 0}, {"axis": [0]}):
            first = _first_position(fold, line.inputs[1])
        else:
            return None
    tensor = fold.graph.tensors[stored.path]
    if tensor.type.rank != 2 or tensor.buffer or not tensor.trainable or stored != Stored(stored.path):
        return None
    return Value(tensor.type, stored=stored), first


def _first_position(fold: Folding, ids: Value | None) -> int | None:
    """Return the first of successive ids along the last axis, all samples the same."""
    counted = fold.progression(ids)
    if ids is None or counted is None or (counted.axis, counted.step) != (ids.type.rank - 1, 1):
        return None
    return counted.start if isinstance(counted.start, int) and counted.start >= 0 else None


def _embedding(fold: Folding, line: Line) -> Value | None:
    """Return the row of a table for the same id everywhere, if the row is only added."""
    ids, rows = line.inputs[0], line.outputs[0]
    number = fold.number(ids)
    if number is None or ids is None or not ids.type.shape or line.attributes.keys() - {"padding_idx", *_PLAIN_TABLE}:
        return None
    users = [user for user in fold.graph.lines if rows in user.inputs]
    if not users or rows in fold.graph.results or not all(_only_added(user, rows) for user in users):
        return None
    dtype = None if ids.type.dtype == "int64" else ids.type.dtype
    constant = fold.build.line("constant", [], {"value": number, "dtype": dtype})
    weight = Value(fold.graph.tensors[line.parameters["weight"].path].type, stored=line.parameters["weight"])
    fold.build.scope, fold.build.hint = line.scope, rows.hint
    return fold.build.line("embedding", [constant], line.attributes, {"weight": weight})


def _only_added(user: Line, rows: Value) -> bool:
    """Report that a line adds a value to another one of the shape of the result."""
    others = [value.type for value in user.inputs if value is not None and value is not rows]
    return user.operation == "add" and others == [user.outputs[0].type]


_RULES: dict[str, Callable[[Folding, Line], Value | None]] = {
    "logical_and": _logical,
    "logical_or": _logical,
    "where": _where,
    "masked_fill": _masked_fill,
    "add": _arithmetic,
    "sub": _arithmetic,
    "mul": _arithmetic,
    "div": _arithmetic,
    "embedding": _embedding,
    "index": _index,
    "index_select": _index,
}
