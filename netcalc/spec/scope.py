"""Lexical scopes: the names that a line can refer to, and the body that its nodes are added to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.diagnostics import Span
from netcalc.ir import Body, CheckpointMap, Node, Value, join
from netcalc.spec.library import Loaded

__all__ = ["Outputs", "PartialBody", "Poisoned", "Scope"]


class Poisoned(Exception):  # noqa: N818 - not an error of its own: one was reported before
    """Raised where the type of a value is needed that is unknown because of an earlier error."""


class Outputs(NamedTuple):
    """Values that a name refers to, by port; None is an optional input that is absent."""

    by_port: Mapping[str, Value | None]
    span: Span | None = None

    @property
    def first(self) -> Value | None:
        """Value of the first port."""
        return next(iter(self.by_port.values()))

    @classmethod
    def single(cls, value: Value | None, span: Span | None = None) -> Outputs:
        """Return the outputs of a name that refers to one value."""
        return cls({"output": value}, span)


@dataclass(eq=False, slots=True)
class PartialBody:
    """A body under construction.

    The body of a repeated operation or sequence has no declared inputs: it captures values of the ``outer`` scope.
    """

    block: str
    home: Loaded  # the file whose blocks its lines may use
    outer: Scope | None = None
    inputs: list[Value | None] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    paths: dict[str, Span | None] = field(default_factory=dict)  # path of each line: where the line is
    captured: dict[str, tuple[Value, Value]] = field(default_factory=dict)  # name: (outer value, the body's input)
    suffixes: dict[str, int] = field(default_factory=dict)  # path: the first suffix that may be free

    def capture(self, name: str, value: Value) -> Value:
        """Return the input that stands for a value of the outer scope, added at its first use."""
        if name not in self.captured:
            inner = Value(value.type, value.name, value.span)
            self.captured[name] = (value, inner)
            self.inputs.append(inner)
        return self.captured[name][1]

    def unique(self, path: str) -> str:
        """Return ``path``, with a suffix (``_1``, ``_2``, …) if it is taken."""
        if path not in self.paths:
            return path
        suffix = self.suffixes.get(path, 1)
        while f"{path}_{suffix}" in self.paths:
            suffix += 1
        self.suffixes[path] = suffix
        return f"{path}_{suffix}"

    def finish(self, outputs: Sequence[Value], checkpoint: CheckpointMap | None = None) -> Body:
        """Return the finished body."""
        return Body(self.block, tuple(self.inputs), tuple(self.nodes), tuple(outputs), checkpoint or CheckpointMap())


@dataclass(eq=False, slots=True)
class Scope(Mapping[str, Any]):
    """Names visible at one place of a spec, nested in a ``parent`` scope.

    As a mapping it is what expressions see: block arguments and loop variables, then values as their tensor types, then
    dims and vars.  Iteration gives every visible name, for suggestions.  In a ``numbered`` scope (a named sequence)
    unnamed lines are called 0, 1, 2, …, as in torch.nn.Sequential.
    """

    body: PartialBody
    settings: Mapping[str, Any]
    prefix: str = ""
    numbered: bool = False
    parent: Scope | None = None
    defined: dict[str, Outputs] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)  # block arguments and loop variables
    later: dict[str, Span | None] = field(default_factory=dict)  # names of lines that have not been elaborated yet
    counter: list[int] = field(default_factory=lambda: [0])  # shared by scopes that number their lines together

    def child(self, *, variables: dict[str, Any] | None = None, sequence: str | None = None) -> Scope:
        """Return a nested scope of the same body: that of one iteration, or of the named sequence at a path."""
        if sequence is not None:
            return Scope(self.body, self.settings, sequence, True, self)
        return Scope(self.body, self.settings, self.prefix, parent=self, variables=variables or {})

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and those around it, innermost first, those around an anonymous body included."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent if scope.parent is not None else scope.body.outer

    def peek(self, name: str) -> Outputs | None:
        """Return what ``name`` refers to, without capturing it; None if it is unknown."""
        for scope in self.enclosing():
            if name in scope.defined:
                return scope.defined[name]
        return None

    def lookup(self, name: str) -> Outputs | None:
        """Return what ``name`` refers to, captured if it is outside an anonymous body; None if it is unknown."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.defined:
                return scope.defined[name]
            scope = scope.parent
        outer = self.body.outer
        found = outer.lookup(name) if outer is not None else None
        if found is None:
            return None
        inner = {
            port: None if value is None else self.body.capture(f"{name}.{port}", value)
            for port, value in found.by_port.items()
        }
        return Outputs(inner, found.span)

    def defined_later(self, name: str) -> Span | None:
        """Return the place of the later line that defines ``name``, or None."""
        return next((scope.later[name] for scope in self.enclosing() if name in scope.later), None)

    def value_names(self) -> Iterator[str]:
        """Yield the names of all visible values."""
        for scope in self.enclosing():
            yield from scope.defined

    def arguments_in_force(self) -> dict[str, str]:
        """Return the visible block arguments and loop variables as text, innermost first."""
        shown: dict[str, str] = {}
        for scope in self.enclosing():
            for name, value in scope.variables.items():
                shown.setdefault(name, str(value).lower() if isinstance(value, bool) else str(value))
        return shown

    def path_of_line(self, name: str | None, kind: str) -> str:
        """Return a line's path: from its name, its number in a sequence, or its operation or block made unique."""
        if name is not None:
            return join(self.prefix, name)
        if self.numbered:
            number = str(self.counter[0])
            self.counter[0] += 1
            return join(self.prefix, number)
        return self.body.unique(join(self.prefix, kind))

    # -- as a mapping, for expressions

    def __getitem__(self, name: str) -> Any:
        for scope in self.enclosing():
            if name in scope.variables:
                return scope.variables[name]
        outputs = self.peek(name)
        if outputs is None:
            return self.settings[name]
        value = outputs.first
        if value is None:
            return None
        if value.type is None:
            raise Poisoned
        return value.type

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return any(name in scope.variables or name in scope.defined for scope in self.enclosing()) or (
            name in self.settings
        )

    def __iter__(self) -> Iterator[str]:
        for scope in self.enclosing():
            yield from scope.variables
        yield from self.value_names()
        yield from self.settings

    def __len__(self) -> int:
        return sum(1 for _ in self)
