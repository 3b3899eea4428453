"""The tree of module calls of a graph: named sequences of lines, as the modules of the source are nested."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from netcalc.formats.graph.model import Graph, Line, ModuleCall, Stored, Value

__all__ = [
    *("Block", "Call", "Cycle", "Entry", "Expression", "Item", "Required", "Sequence", "Step", "Turns"),
    *("inside", "last_value", "tree_of"),
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
        ties: for a parameter that an earlier line holds, the path of that one in the network.
        entries: for a parameter that the checkpoint holds elsewhere or in another form, its place there.
        frozen: True if none of its parameters is trained.
        branches: the items that make its inputs, by the name of the branch, where the lines before do not.
        origin: the value from which all branches start.
    """

    line: Line
    name: str = ""
    given: bool = False
    ties: dict[str, str] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    frozen: bool = False
    branches: dict[str, list[Item]] = field(default_factory=dict)
    origin: Value | None = None


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
    """

    name: str
    path: str
    kind: str
    items: list[Item] = field(default_factory=list)
    place: str = ""
    shares: str = ""


@dataclass(eq=False, slots=True)
class Block:
    """A block of the spec: the items of a representative call, whose values are its own.

    Attributes:
        name: its name.
        items: its lines.
        inputs, outputs: values of the items.
        path, place: of the representative module in the source and in the network.
        arguments: the default of each argument, or its type as a :class:`Required`.
        suffixes: what follows the name of a call in that of each output.
    """

    name: str
    items: list[Item]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    path: str
    place: str
    arguments: dict[str, Any] = field(default_factory=dict)
    suffixes: list[str] = field(default_factory=list)


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
        name: its name; of repeated calls that of all, to which numbers are appended.
        block: the block.
        inputs, outputs: values outside, in the order of those of the block; the outputs are of the last call.
        arguments: values of arguments that are not the defaults.
        place: its path in the network.
        shares: the place of an earlier call with the same tensors, or an empty text; with ``times``, any text says that
            all calls use those of the first.
        times: number of repeated calls; 0 for a single one.
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
    times: int = 0
    stem: str | None = None
    start: int = 0
    earlier: list[tuple[Value, ...]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Cycle:
    """Calls that are repeated in turn, each of the output of the one before.

    Attributes:
        calls: those of the first turn.
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
        items: those of the first turn.
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


def inside(path: str, place: str) -> str:
    """Return a path relative to the block at a place, or from the top with a leading slash."""
    return path.removeprefix(f"{place}.") if path.startswith(f"{place}.") else f"/{path}"


def tree_of(graph: Graph) -> Sequence:
    """Return the tree of a graph; its root is the network, without a name.

    A module that is the only line of its call, or the only parameters of it, has no sequence of its own.
    """
    root = Sequence("", "", graph.name)
    opened: list[tuple[ModuleCall | None, Sequence]] = [(None, root)]
    closed: set[ModuleCall] = set()
    for line in graph.lines:
        scope = [call for call in line.scope if call not in closed]
        depth = 0
        while depth < min(len(scope), len(opened) - 1) and opened[depth + 1][0] == scope[depth]:
            depth += 1
        closed.update(call for call, _ in opened[depth + 1 :] if call is not None)
        del opened[depth + 1 :]
        for call in scope[depth:]:
            if call in closed:  # gone on with after other lines: its lines stand in the sequence around it
                continue
            parent = opened[-1][1]
            taken = {item.name for item in parent.items}
            sequence = Sequence(_free(_relative(call, parent), taken), call.path, call.kind)
            parent.items.append(sequence)
            opened.append((call, sequence))
        opened[-1][1].items.append(Step(replace(line, attributes=dict(line.attributes))))  # arguments replace some
    _name(root, set(), set())
    return root


def _relative(call: ModuleCall, parent: Sequence) -> str:
    """Return the name of a call in the sequence around it."""
    return call.path.removeprefix(f"{parent.path}.") if parent.path else call.path


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken: a further call of a module has a number."""
    number, found = 0, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _name(sequence: Sequence, held: set[Stored], called: set[str], *, again: bool = False) -> None:
    """Name the lines of a sequence by the tensors that they hold; dissolve sequences of a single layer.

    Args:
        sequence: the sequence.
        held: the tensors of the lines before, which only further calls of a module name alike.
        called: the paths of the modules called before.
        again: True for a further call of a module, and within one.
    """
    items: list[Item] = []
    taken: set[str] = set()
    for item in sequence.items:
        if isinstance(item, Step):
            tied = not again and held.intersection(item.line.parameters.values())
            name = "" if tied else _held_name(item.line, sequence.path)
            item.name = "" if name in taken else name
            taken.add(item.name)
            held.update(item.line.parameters.values())
            item.given = bool(item.name)
        if not isinstance(item, Sequence):
            items.append(item)
            continue
        _name(item, held, called, again=again or item.path in called)
        called.add(item.path)
        items += _dissolved(item, item.path)
    sequence.items = items


def _dissolved(sequence: Sequence, path: str) -> list[Item]:
    """Return a sequence, or its only layer under the name of the sequence, with the lines around it."""
    steps = [item for item in sequence.items if isinstance(item, Step)]
    if len(steps) < len(sequence.items):
        return [sequence]
    holders = [step for step in steps if _held_path(step.line) == path]
    if len(steps) == 1 and not (steps[0].given and not holders):
        steps[0].name, steps[0].given = sequence.name, True
        return [*steps]
    if len(holders) == 1 and all(step is holders[0] or not step.line.parameters for step in steps):
        holders[0].name, holders[0].given = sequence.name, True
        return [*steps]
    return [sequence]


def _held_path(line: Line) -> str | None:
    """Return the path of the module whose tensors a line holds; None if it holds none, or those of several."""
    paths = set()
    for name, stored in line.parameters.items():
        if not name:
            return stored.path
        owner, _, last = stored.path.rpartition(".")
        if last != name:
            return None
        paths.add(owner)
    return paths.pop() if len(paths) == 1 else None


def _held_name(line: Line, path: str) -> str:
    """Return the name that gives the tensors of a line their own paths, in the module at ``path``; or an empty one."""
    held = _held_path(line)
    if held is None:
        return ""
    if not path:
        return held
    return held.removeprefix(f"{path}.") if held.startswith(f"{path}.") else ""
