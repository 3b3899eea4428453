"""Lexical scopes: the names that a line can refer to, and the body that its nodes are added to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, Span, did_you_mean
from netcalc.dims import Dim, Poly, UndecidedError
from netcalc.dtypes import DType
from netcalc.ir import Body, CheckpointEntry, CheckpointMap, Node, Value, join
from netcalc.ir.places import Copies, Place, find_value, sibling_paths
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import Loaded
from netcalc.spec.patches import Pending
from netcalc.spec.settings import Settings
from netcalc.tensor_type import TensorType

#: The name of the network's floating-point type in expressions.
_DEFAULT_DTYPE = "default_dtype"


class Poisoned(Exception):  # noqa: N818 - not an error of its own: one was reported before
    """Raised where the type of a value is needed that is unknown because of an earlier error."""


def type_of(value: Value | None) -> TensorType | None:
    """Return the type of a value, None for an absent one; Poisoned if it is unknown."""
    if value is not None and value.type is None:
        raise Poisoned
    return None if value is None else value.type


class AbsentList(Mapping[str, None]):
    """The absent values of a list of any length; access raises UndecidedError if the length is symbolic."""

    def __init__(self, count: Dim) -> None:
        self.count = count

    def __len__(self) -> int:
        if isinstance(self.count, Poly):
            raise UndecidedError(f"a list of {self.count} values")
        return self.count

    def __iter__(self) -> Iterator[str]:
        return map(str, range(len(self)))

    def __getitem__(self, key: str) -> None:
        if not (key.isdecimal() and int(key) < len(self)):
            raise KeyError(key)


class Outputs(NamedTuple):
    """Values that a name refers to, by port; None is an optional input that is absent."""

    by_port: Mapping[str, Value | None]
    span: Span | None = None
    is_list: bool = False  # a list of values, numbered from 0, that is collected from iterations
    skipped: bool = False  # `when` omits the line, and the name stands for its input

    @property
    def first(self) -> Value | None:
        """Value of the first port, None for an empty list."""
        return next(iter(self.by_port.values()), None)

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
    failed: set[str] = field(default_factory=set)  # operations and blocks of unnamed lines with an error
    visible: int | None = None  # number of nodes that paths lead to, while a repeat adds its iterations
    copies: Copies = field(default_factory=dict)
    inlined: list[CheckpointEntry] = field(default_factory=list)  # of inlined blocks
    rows: int = 0  # of reports, including the rows of called bodies

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

    @property
    def visible_nodes(self) -> list[Node]:
        """The nodes that paths lead to."""
        return self.nodes if self.visible is None else self.nodes[: self.visible]

    @contextmanager
    def adding_iterations(self) -> Iterator[None]:
        """Hide the nodes that are added inside from paths: iterations of a repeat that is not complete."""
        self.visible = len(self.nodes)
        try:
            yield
        finally:
            self.visible = None

    def finish(
        self, outputs: Sequence[Value], checkpoint: CheckpointMap | None = None, ports: Sequence[str] = ()
    ) -> Body:
        """Return the finished body."""
        inputs, nodes, entries = tuple(self.inputs), tuple(self.nodes), checkpoint or CheckpointMap()
        if self.inlined:  # the outer one of two entries takes precedence
            declared = {entry.path for entry in entries.entries}
            entries = CheckpointMap((*entries.entries, *(e for e in self.inlined if e.path not in declared)))
        return Body(self.block, inputs, nodes, tuple(outputs), entries, tuple(ports))


@dataclass(eq=False, slots=True)
class Scope(Mapping[str, Any]):
    """Names visible at one place of a spec, nested in a ``parent`` scope.

    As a mapping it is what expressions see: block arguments and loop variables, then values as their tensor types, then
    dims and vars, then ``default_dtype``.  Iteration gives all visible names, for suggestions.  In a ``numbered`` scope
    (a named sequence) unnamed lines are called 0, 1, 2, …, as in torch.nn.Sequential.
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
    patches: tuple[Pending, ...] = ()  # those that apply to lines of the body
    module: str = ""  # path of the module that a named sequence is a further call of
    inlined: Loaded | None = None  # the file of the block whose lines are inlined here; names around it are hidden
    hidden: int = 0  # number of first nodes that paths do not lead to: those before an inlined block
    current: Outputs | None = None  # `_` in expressions: the value that the current line receives
    default_dtype: DType = "float32"  # of the network's floating-point tensors

    def child(self, *, variables: dict[str, Any] | None = None, sequence: str | None = None) -> Scope:
        """Return a nested scope of the same body, for an iteration or for the named sequence at a path."""
        nested = Scope(
            self.body, self.settings, self.prefix if sequence is None else sequence, sequence is not None, self
        )
        nested.variables, nested.patches, nested.hidden = variables or {}, self.patches, self.hidden
        nested.default_dtype = self.default_dtype
        return nested

    @property
    def visible_nodes(self) -> list[Node]:
        """The nodes that paths lead to."""
        return self.body.visible_nodes[self.hidden :]

    @property
    def home(self) -> Loaded:
        """The file whose blocks the lines may use."""
        inlined = (scope.inlined for scope in self.enclosing() if scope.body is self.body)
        return next((home for home in inlined if home is not None), self.body.home)

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and the scopes around it, innermost first, beyond an anonymous body too."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.around

    @property
    def around(self) -> Scope | None:
        """The scope around this one."""
        if self.inlined is not None:
            return None
        return self.parent if self.parent is not None else self.body.outer

    def peek(self, name: str) -> Outputs | None:
        """Return what ``name`` refers to, without capturing it; None if it is unknown."""
        scope: Scope | None = self
        while scope is not None:
            if name == "_" and scope.current is not None:
                return scope.current
            if name in scope.defined:
                return scope.defined[name]
            scope = scope.around
        return None

    def lookup(self, name: str) -> Outputs | None:
        """Return what ``name`` refers to, captured if it is outside an anonymous body; None if it is unknown."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.defined:
                return scope.defined[name]
            if scope.inlined is not None:
                return None
            scope = scope.parent
        outer = self.body.outer
        outputs = outer.lookup(name) if outer is not None else None
        if outputs is None:
            return None
        inner = {
            port: None if value is None else self.body.capture(f"{name}.{port}", value)
            for port, value in outputs.by_port.items()
        }
        return outputs._replace(by_port=inner)

    def place_of(self, path: str) -> tuple[PartialBody, Place] | None:
        """Return the place of the value at a path and the body that the path starts in, or None if there is none.

        A path starts in the current sequence, in an enclosing one, or at the top of the block, innermost first.

        Raises:
            Poisoned: a line that may have the path is not elaborated because of an error.
        """
        for scope in self.enclosing():
            place = find_value(scope.visible_nodes, join(scope.prefix, path))
            if place is not None:
                return scope.body, place
        first = path.partition(".")[0]
        kind, _, number = first.rpartition("_")
        for scope in self.enclosing():
            failed = scope.defined.get(first)
            if failed is not None and failed.first is not None and failed.first.type is None:
                raise Poisoned
            if first in scope.body.failed or (number.isdecimal() and kind in scope.body.failed):
                raise Poisoned
        return None

    def type_named(self, text: str) -> TensorType | None:
        """Return the type of the value that ``text`` names, None for an absent one.

        Raises:
            NetcalcError: there is no such value; the diagnostic has no place yet.
        """
        outputs = self.peek(text)
        if outputs is not None:
            return type_of(outputs.first)
        base, _, port = text.rpartition(".")
        owner = self.peek(base)
        if owner is not None and port in owner.by_port:
            return type_of(owner.by_port[port])
        place = self.place_of(text)
        if place is None:
            raise NetcalcError(self.unknown_value(text, None))
        return type_of(place[1].value)

    def unknown_value(self, text: str, span: Span | None) -> Diagnostic:
        """Return the diagnostic of a name that no earlier line defines: E302 if a later one does, or E301 or E303."""
        first = text.split(".")[0]
        later = None if self.peek(first) is not None else self.defined_later(first)
        if later is not None:
            message = f"{text!r} is defined by a later line; a line can use only values of earlier lines"
            related = (Related(f"{first!r} is defined here", later),)
            advice = "networks are acyclic; for recurrence use rnn, lstm, gru or repeat"
            return Diagnostic("E302", message, span, related, hint=advice)
        base, _, port = text.rpartition(".")
        paths = self._known_paths(text)
        owner = self.peek(base) if base else None
        if owner is not None and not any(path.startswith(base + ".") for path in paths):
            hint = f"its outputs are {', '.join(owner.by_port)}"
            return Diagnostic("E303", f"{base!r} has no output {port!r}", span, hint=hint)
        near = self._number_hint(text) or did_you_mean(text, [*self.value_names(), *paths])
        return Diagnostic("E301", f"unknown value {text!r}", span, hint=near)

    def _number_hint(self, text: str) -> str | None:
        """Return the path that has the last of the iterations or lines, if it has another number than these."""
        parts = text.split(".")
        numbered = (i for i, part in enumerate(parts) if part.removeprefix("-").isdecimal())
        found = (
            _iterations_hint(parts[:i], parts[i], parts[i + 1 :], self._known_paths(".".join(parts[: i + 1])))
            for i in numbered
        )
        return next(filter(None, found), None)

    def _known_paths(self, path: str) -> list[str]:
        """Return the paths of values that a misspelt one may mean."""
        paths: dict[str, None] = {}
        for scope in self.enclosing():
            siblings = sibling_paths(scope.visible_nodes, join(scope.prefix, path))
            stem = scope.prefix + "." if scope.prefix else ""
            paths |= dict.fromkeys(name.removeprefix(stem) for name in siblings if name.startswith(stem))
        return list(paths)

    def defined_later(self, name: str) -> Span | None:
        """Return the place of the later line that defines ``name``, or None."""
        return next((scope.later[name] for scope in self.enclosing() if name in scope.later), None)

    def value_names(self) -> Iterator[str]:
        """Yield the names of all visible values."""
        for scope in self.enclosing():
            yield from scope.defined

    def arguments_in_force(self) -> dict[str, Any]:
        """Return the visible block arguments and loop variables, innermost first."""
        arguments: dict[str, Any] = {}
        for scope in self.enclosing():
            for name, value in scope.variables.items():
                arguments.setdefault(name, value)
        return arguments

    def path_of_line(self, name: str | None, kind: str) -> str:
        """Return a line's path: from its name, its number in a sequence, or its operation or block made unique."""
        if name is not None:
            return join(self.prefix, name)
        if self.numbered:
            number = str(self.counter[0])
            self.counter[0] += 1
            return join(self.prefix, number)
        return self.body.unique(join(self.prefix, kind))

    def place_of_var(self, name: str) -> Cursor | None:
        """Return the value of a var as it is written; None for a name that stands for something else."""
        if name in self.arguments_in_force() or self.peek(name) is not None or not isinstance(self.settings, Settings):
            return None
        return self.settings.place_of(name) if name in self.settings.vars else None

    # -- as a mapping, for expressions

    def __getitem__(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.around
        outputs = self.peek(name)
        if outputs is not None and outputs.is_list:
            return [type_of(value) for value in outputs.by_port.values()]
        if outputs is None and name == _DEFAULT_DTYPE and name not in self.settings:
            return self.default_dtype
        return self.settings[name] if outputs is None else type_of(outputs.first)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        is_variable = any(name in scope.variables for scope in self.enclosing())
        return is_variable or self.peek(name) is not None or name in self.settings or name == _DEFAULT_DTYPE

    def __iter__(self) -> Iterator[str]:
        for scope in self.enclosing():
            yield from scope.variables
        yield from self.value_names()
        yield from self.settings
        yield _DEFAULT_DTYPE

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _iterations_hint(base: list[str], number: str, rest: list[str], paths: Sequence[str]) -> str | None:
    """Return the numbers of iterations and lines that there are, for another number than these."""
    stem = "".join(part + "." for part in base)
    tails = (path.removeprefix(stem) for path in paths if path.startswith(stem))
    numbers = [int(tail) for tail in tails if tail.isdecimal()]
    if not numbers or int(number) in numbers:
        return None
    last = ".".join([*base, str(max(numbers)), *rest])
    return f"use `{last}` or one before it: they are numbered from {min(numbers)}"
