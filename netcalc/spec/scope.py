"""Bodies under construction: nodes, the names in sight, and the paths taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError, Span
from netcalc.ir import Node, Value, join
from netcalc.tensor_type import TensorType

__all__ = ["BodyBuilder", "Frame", "Named", "Poisoned", "Scope", "TooLargeError", "type_of"]


class Poisoned(Exception):  # noqa: N818 - no error of its own: one was already reported
    """Raised when an expression asks for the type of a value that an earlier error left unknown."""


class TooLargeError(NetcalcError):
    """Ends the walk at once, where other errors let it go on."""


class Named(NamedTuple):
    """What a name stands for: one or more values by port, None for an optional input that is absent."""

    outputs: Mapping[str, Value | None]
    span: Span | None = None

    @property
    def first(self) -> Value | None:
        """The value of the first port."""
        return next(iter(self.outputs.values()))

    @classmethod
    def single(cls, value: Value | None, span: Span | None = None) -> Named:
        """A name for one value."""
        return cls({"output": value}, span)


@dataclass(eq=False, slots=True)
class BodyBuilder:
    """One body being filled.  ``outer`` is the frame that an anonymous body may capture values from."""

    block: str
    inputs: list[Value | None] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    paths: dict[str, Span | None] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # from where to look for a free number
    outer: Frame | None = None
    captured: dict[str, tuple[Value, Value]] = field(default_factory=dict)

    def capture(self, name: str, value: Value) -> Value:
        """The body's own value for one of the frame around it, which becomes a further input."""
        if name not in self.captured:
            inner = Value(value.type, value.name, value.span)
            self.captured[name] = (value, inner)
            self.inputs.append(inner)
        return self.captured[name][1]

    def unique(self, path: str) -> str:
        """``path``, or with the first free number where it is taken."""
        if path not in self.paths:
            return path
        number = self.numbers.get(path, 1)
        while f"{path}_{number}" in self.paths:
            number += 1
        self.numbers[path] = number
        return f"{path}_{number}"


@dataclass(eq=False, slots=True)
class Frame:
    """The names in sight at one place, and how unnamed lines are called there.

    In a ``numbered`` frame (a sequence) unnamed lines are called 0, 1, 2, …, as in torch.nn.Sequential.
    """

    builder: BodyBuilder
    prefix: str = ""
    numbered: bool = False
    parent: Frame | None = None
    names: dict[str, Named] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)  # block arguments and loop variables
    later: dict[str, Span | None] = field(default_factory=dict)  # names that lines further down define
    counter: list[int] = field(default_factory=lambda: [0])  # shared by the frames that number together

    def peek(self, name: str) -> Named | None:
        """What ``name`` stands for, wherever it is; for its type only."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        return self.builder.outer.peek(name) if self.builder.outer is not None else None

    def lookup(self, name: str) -> Named | None:
        """What ``name`` stands for: here, around here, or outside an anonymous body (then captured)."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        outer = self.builder.outer
        found = outer.lookup(name) if outer is not None else None
        if found is None:
            return None
        inner = {
            port: None if value is None else self.builder.capture(f"{name}.{port}", value)
            for port, value in found.outputs.items()
        }
        return Named(inner, found.span)

    def variable(self, name: str) -> tuple[bool, Any]:
        """(whether there is an argument or loop variable of this name, its value)."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.variables:
                return True, frame.variables[name]
            frame = frame.parent
        return self.builder.outer.variable(name) if self.builder.outer is not None else (False, None)

    def defined_later(self, name: str) -> Span | None:
        """Where a line further down defines ``name``, or None."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.later:
                return frame.later[name]
            frame = frame.parent
        return self.builder.outer.defined_later(name) if self.builder.outer is not None else None

    def visible(self) -> Iterator[str]:
        """Every value name in sight."""
        frame: Frame | None = self
        while frame is not None:
            yield from frame.names
            frame = frame.parent
        if self.builder.outer is not None:
            yield from self.builder.outer.visible()

    def take_name(self, given: str | None, fallback: str) -> str:
        """The path of a line: its own name, its number in a sequence, or its operation's name made unique."""
        if given is not None:
            return join(self.prefix, given)
        if self.numbered:
            number = str(self.counter[0])
            self.counter[0] += 1
            return join(self.prefix, number)
        return self.builder.unique(join(self.prefix, fallback))


class Scope(Mapping[str, Any]):
    """What an expression sees: loop variables and arguments, then values (as tensor types), then settings."""

    def __init__(self, frame: Frame, settings: Mapping[str, Any]) -> None:
        self.frame = frame
        self.settings = settings

    def __getitem__(self, name: str) -> Any:
        bound, value = self.frame.variable(name)
        if bound:
            return value
        named = self.frame.peek(name)
        if named is not None:
            first = named.first
            if first is None:
                return None
            if first.type is None:
                raise Poisoned
            return first.type
        return self.settings[name]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return self.frame.variable(name)[0] or self.frame.peek(name) is not None or name in self.settings

    def __iter__(self) -> Iterator[str]:
        frame: Frame | None = self.frame
        while frame is not None:
            yield from frame.variables
            frame = frame.parent
        yield from self.frame.visible()
        yield from self.settings

    def __len__(self) -> int:
        return sum(1 for _ in self)


def type_of(value: Value | None) -> TensorType | None:
    """The type of a value, None for one that is absent."""
    return None if value is None else value.type
