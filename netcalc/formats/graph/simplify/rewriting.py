"""A graph while its lines are replaced: makers and users of values, and passes of rules over the lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Line, Scope, Stored, Value, operation_named
from netcalc.ir.build import infer
from netcalc.opdef import Context, Operation
from netcalc.tensor_type import TensorType

_CONTEXT = Context(dtype="float32")


class Rewriter:
    """A graph and the lines that make and use each of its values.

    ``build`` adds lines in place of the line that a rule looks at; ``memory`` keeps what rules found out.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.build = Builder(Graph("", tensors=graph.tensors, training=graph.training))
        self.memory: dict[Any, Any] = {}
        self._makers: dict[Value, Line] = {}
        self._users: dict[Value, dict[Line, None]] = {}
        self._operations: dict[Line, Operation] = {}
        self._dropped: set[Line] = set()
        self._results = set(graph.results)
        self._replacements: list[tuple[Value, Value]] = []
        self._fed: list[tuple[Line, tuple[Value | None, ...]]] = []
        for line in graph.lines:
            self._enter(line)

    # -- questions ----------------------------------------------------------------------------------

    def maker(self, value: Value | None) -> Line | None:
        """Return the line that makes a value; None for an input of the graph."""
        return None if value is None else self._makers.get(value)

    def users(self, value: Value) -> list[Line]:
        """Return the lines that use a value, in no particular order."""
        return list(self._users.get(value, ()))

    def is_result(self, value: Value) -> bool:
        """Return True if a value is a result of the graph: an output, or one of dead code."""
        return value in self._results

    def only_user(self, value: Value) -> Line | None:
        """Return the line that alone uses a value; None if there are several, or it is a result of the graph."""
        users = self._users.get(value, {})
        return next(iter(users)) if len(users) == 1 and value not in self._results else None

    def operation(self, line: Line) -> Operation:
        """Return the operation of a line, with the defaults of attributes that the line leaves out."""
        if line not in self._operations:
            self._operations[line] = operation_named(line.operation)(**line.attributes)
        return self._operations[line]

    def types(self, line: Line, inputs: Sequence[Value | None]) -> list[TensorType] | None:
        """Return the types of a line's outputs for other inputs; None if it does not take these."""
        try:
            types = infer(self.operation(line), [None if value is None else value.type for value in inputs], _CONTEXT)
        except RuleError:
            return None
        return list(types)

    # -- changes ------------------------------------------------------------------------------------

    def again(self, line: Line, *inputs: Value | None) -> tuple[Value, ...]:
        """Add a line like another one, in its scope, with other inputs in front of those that are not given."""
        self.build.scope, self.build.hint = line.scope, line.outputs[0].hint
        parameters = {name: self.stored(stored) for name, stored in line.parameters.items()}
        return self.build.lines(line.operation, [*inputs, *line.inputs[len(inputs) :]], line.attributes, parameters)

    def stored(self, stored: Stored) -> Value:
        """Return a tensor of the checkpoint as a value that an operation takes as its parameter."""
        return Value(self.graph.tensors[stored.path].type, stored=stored)

    def sweep(self) -> bool:
        """Leave out the lines that lead to no result of the graph; return True if there were any."""
        dead = [line for line in reversed(self.graph.lines) if not self._used(line)]
        for line in dead:
            self._drop(line)
        return self._leave_out()

    def run(self, rules: Mapping[str, Sequence[Rule]]) -> bool:
        """Offer each line to the rules of its operation, in order; return True if a rule changed one."""
        changed = False
        done: list[Line] = []
        self.build = Builder(Graph("", lines=done, tensors=self.graph.tensors))
        for line in self.graph.lines:
            if line in self._dropped:
                continue
            if any(self._applied(rule, line, done) for rule in rules.get(line.operation, ())):
                changed = True
            else:
                done.append(line)
        self.graph.lines = done
        self._leave_out()
        return changed

    def replace(self, old: Value, new: Value) -> None:
        """Let all users of a value use another one, as soon as the rule that runs has returned."""
        self._replacements.append((old, new))

    def feed(self, line: Line, *inputs: Value | None) -> None:
        """Give a line other inputs, as soon as the rule that runs has returned."""
        self._fed.append((line, inputs))

    def _feed(self, line: Line, inputs: tuple[Value | None, ...]) -> None:
        for value in filter(None, line.inputs):
            self._users[value].pop(line, None)
        line.inputs = inputs
        for value in filter(None, inputs):
            self._users.setdefault(value, {})[line] = None

    def _replace(self, old: Value, new: Value) -> None:
        for line in self._users.pop(old, {}):
            line.inputs = tuple(new if value is old else value for value in line.inputs)
            self._users.setdefault(new, {})[line] = None
        if old in self._results:
            self.graph.replace_results({old: new})
            self._results = set(self.graph.results)
        maker = self._makers.get(old)
        if maker is not None and not self._used(maker):
            self._drop(maker)

    def _applied(self, rule: Rule, line: Line, done: list[Line]) -> bool:
        start = len(done)
        self._replacements.clear()
        self._fed.clear()
        self.build.scope, self.build.hint = line.scope, line.outputs[0].hint
        try:
            results = rule(self, line)
        except RuleError:  # the operation does not take these types or sizes: the lines stay as they are
            results = None
        if results is None:
            del done[start:]
            return False
        for added in done[start:]:
            self._enter(added)
        for fed, inputs in self._fed:
            self._feed(fed, inputs)
        for old, new in [*self._replacements, *zip(line.outputs, results, strict=True)]:
            self._replace(old, new)
        return True

    def _enter(self, line: Line) -> None:
        for value in line.outputs:
            self._makers[value] = line
        for operand in line.inputs:
            if operand is not None:
                self._users.setdefault(operand, {})[line] = None

    def _used(self, line: Line) -> bool:
        return any(self._users.get(value) or value in self._results for value in line.outputs)

    def _drop(self, line: Line) -> None:
        """Mark a line that nobody uses, and those that only it used."""
        waiting = [line]
        while waiting:
            unused = waiting.pop()
            if unused in self._dropped:
                continue
            self._dropped.add(unused)
            for value in filter(None, unused.inputs):
                self._users.get(value, {}).pop(unused, None)
                maker = self._makers.get(value)
                if maker is not None and not self._used(maker):
                    waiting.append(maker)

    def _leave_out(self) -> bool:
        dropped = bool(self._dropped)
        self.graph.lines = [line for line in self.graph.lines if line not in self._dropped]
        self._dropped.clear()
        return dropped


#: A rule takes a line and returns the values that stand for its outputs, or None where it does not apply.
Rule: TypeAlias = Callable[[Rewriter, Line], Sequence[Value] | None]


def source_of(line: Line) -> Value:
    """Return the first input of a line, which always has one."""
    value = line.inputs[0]
    assert value is not None
    return value


def common_scope(lines: Sequence[Line]) -> Scope:
    """Return the calls of modules that are around all of some lines."""
    first, *others = (line.scope for line in lines)
    length = next(
        (place for place, call in enumerate(first) if any(other[place : place + 1] != (call,) for other in others)),
        len(first),
    )
    return first[:length]
