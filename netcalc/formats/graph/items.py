"""Items of a spec in the making: lines, named sequences, calls of blocks, and repeats."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.formats.graph.model import Line, Value

__all__ = [
    *("Block", "Call", "Cycle", "Entry", "Expression", "Item", "Required", "Sequence", "Step", "Turns"),
    *("free_name", "inside", "last_value", "spec_name"),
]


class Entry(NamedTuple):
    """The place of a parameter in the checkpoint: a tensor, a part of its first axis, and True if it is transposed.

    ``part`` is (i, n) for the i-th of n equal chunks, with ``equal``, and otherwise a range of indices.  ``also`` are
    further paths under which the checkpoint may hold the same tensor.
    """

    path: str
    part: tuple[int, int] | tuple[()] = ()
    equal: bool = False
    transpose: bool = False
    also: tuple[str, ...] = ()

    def moved(self, path: str) -> Entry:
        """Return the entry with paths relative to the module at a path; those outside have a leading slash."""
        return self._replace(path=inside(self.path, path), also=tuple(inside(alias, path) for alias in self.also))


@dataclass(eq=False, slots=True)
class Step:
    """A line with its name in the sequence; the name is empty where none is needed.

    Attributes:
        line: the operation.
        name: its name.
        given: True for a name that stems from the source.
        ties: for a parameter that an earlier line holds, the path of that one in the network, with a leading slash if
            it is not in a sequence whose path it begins with.
        entries: for a parameter that the checkpoint holds elsewhere or in another form, its place there.
        frozen: True if none of its parameters is trained.
        branches: the items that make its inputs, by the name of the branch, where the lines before do not.
        origin: the value from which all branches start.
        path: the path of the module in the source that it is, or of a part of one that has no module of its own; empty
            for other lines.
        place: its path in the network.
        module: the place of the module that it is a further call of; or an empty text.
    """

    line: Line
    name: str = ""
    given: bool = False
    ties: dict[str, str] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    frozen: bool = False
    branches: dict[str, list[Item]] = field(default_factory=dict)
    origin: Value | None = None
    path: str = ""
    place: str = ""
    module: str = ""


@dataclass(eq=False, slots=True)
class Sequence:
    """The lines of a module call, in order.

    Attributes:
        name: its name in the sequence around it.
        path: the path of the module in the source.
        kind: the name of the module's class.
        items: the lines, calls and sequences in it.
        place: its path in the network.
        shares: the place of an earlier call of the same module, whose tensors it uses; or an empty text.
        module: the place of the module that it is a further call of; or an empty text.
    """

    name: str
    path: str
    kind: str
    items: list[Item] = field(default_factory=list)
    place: str = ""
    shares: str = ""
    module: str = ""


@dataclass(eq=False, slots=True)
class Block:
    """A block of the spec: the items of a representative call, whose values are its own.

    Attributes:
        name: its name.
        items: its lines.
        inputs, outputs: values of the items.
        path, place: of the representative module in the source and in the network.
        places: of all modules in the network.
        arguments: the default of each argument, or its type as a :class:`Required`.
        suffixes: what follows the name of a call in the name of each output.
        first_output: name of the first output, if it needs one.
    """

    name: str
    items: list[Item]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    path: str
    place: str
    places: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    suffixes: list[str] = field(default_factory=list)
    first_output: str = ""


class Required(NamedTuple):
    """The type of an argument that every call gives."""

    type: str


class Expression(NamedTuple):
    """An attribute or argument that is an expression."""

    text: str


@dataclass(eq=False, slots=True)
class Call:
    """A call of a block, or repeated calls, each of the output of the one before.

    Attributes:
        name: its name; of repeated calls the name of all, to which numbers are appended.
        block: the block.
        inputs, outputs: values outside, in the order of the block's own; the outputs are of the last call.
        arguments: values of arguments that are not the defaults.
        place: its path in the network.
        shares: the place of an earlier call with the same tensors, or an empty text; with ``times``, any text says that
            all calls use the parameters of the first.
        module: the place of the module that it is a further call of; or an empty text.
        times: number of repeated calls; 0 for a single one.
        passed: number of the first outputs of a repeated call that the next one takes; the others are collected.
        stem: the name without the number of the call; None for one that is not numbered.
        start: the number of the call, or of the first of them.
        earlier: the outputs of the repeated calls before the last one.
    """

    name: str
    block: Block
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    arguments: dict[str, Any]
    place: str = ""
    shares: str = ""
    module: str = ""
    times: int = 0
    passed: int = 0
    stem: str | None = None
    start: int = 0
    earlier: list[tuple[Value, ...]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Cycle:
    """Calls that are repeated in turn, each of the output of the one before.

    Attributes:
        calls: the calls of the first turn.
        times: number of turns.
        step: difference of the numbers of a call in two turns.
        whole: the calls of all turns.
    """

    calls: list[Call]
    times: int
    step: int
    whole: list[Call]

    @property
    def name(self) -> str:
        """Empty: the repeat itself has no name."""
        return ""


@dataclass(eq=False, slots=True)
class Turns:
    """Items that come again with the next numbers in their names, each turn after the one before.

    Attributes:
        items: the items of the first turn.
        times: number of turns.
        names: the names of its items as expressions of ``turn``, by the identities of the items.
        whole: the items of all turns.
        name: a name for the result, if one is needed.
    """

    items: list[Item]
    times: int
    names: dict[int, str]
    whole: list[Item]
    name: str = ""


Item = Step | Sequence | Call | Cycle | Turns


def last_value(turns: Turns) -> Value:
    """Return the result of the last turn."""
    last = turns.whole[-1]
    assert isinstance(last, (Step, Call))  # a turn has no sequences
    return last.line.outputs[0] if isinstance(last, Step) else last.outputs[0]


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the given one, or the first free one with a number."""
    number, free = 0, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def spec_name(name: str) -> str:
    """Return a name of the source as a spec can have it: of letters, digits and ``_-.``, and not the line before."""
    text = "".join(letter if letter.isalnum() or letter in "_-." else "_" for letter in name)
    return f"{text}_" if text == "_" else text


def inside(path: str, place: str) -> str:
    """Return a path relative to the block at a place, or from the top with a leading slash, which it may have."""
    if path.startswith("/"):
        return path
    return path.removeprefix(f"{place}.") if path.startswith(f"{place}.") else f"/{path}"
