"""The tree of module calls of a graph: named sequences of lines, as the modules of the source are nested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netcalc.formats.graph.model import Graph, Line, ModuleCall, Stored

__all__ = ["Item", "Sequence", "Step", "lines_in", "tree_of"]


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
    """

    line: Line
    name: str = ""
    given: bool = False
    ties: dict[str, str] = field(default_factory=dict)
    entries: dict[str, Stored] = field(default_factory=dict)
    frozen: bool = False


@dataclass(eq=False, slots=True)
class Sequence:
    """The lines of a module call, in order.

    ``path`` is the path of the module in the source, ``kind`` the name of its class.
    """

    name: str
    path: str
    kind: str
    items: list[Item] = field(default_factory=list)


Item = Step | Sequence


def tree_of(graph: Graph) -> Sequence:
    """Return the tree of a graph; its root is the network, without a name.

    A module that is the only line of its call, or the only parameters of it, has no sequence of its own.
    """
    root = Sequence("", "", graph.name)
    opened: list[tuple[ModuleCall | None, Sequence]] = [(None, root)]
    closed: set[tuple[int, str]] = set()
    for line in graph.lines:
        depth = 0
        while depth < min(len(line.scope), len(opened) - 1) and opened[depth + 1][0] == line.scope[depth]:
            depth += 1
        for (_, outer), (_, inner) in zip(opened[depth:], opened[depth + 1 :], strict=False):
            closed.add((id(outer), inner.name))
        del opened[depth + 1 :]
        for call in line.scope[depth:]:
            parent = opened[-1][1]
            sequence = Sequence(_unused(_relative(call, parent), parent, closed), call.path, call.kind)
            parent.items.append(sequence)
            opened.append((call, sequence))
        opened[-1][1].items.append(Step(line))
    _name(root, "")
    return root


def lines_in(items: list[Item]) -> Iterator[Line]:
    """Yield the lines of items, those of nested sequences included."""
    for item in items:
        if isinstance(item, Step):
            yield item.line
        else:
            yield from lines_in(item.items)


def _relative(call: ModuleCall, parent: Sequence) -> str:
    """Return the name of a call in the sequence around it."""
    return call.path.removeprefix(f"{parent.path}.") if parent.path else call.path


def _unused(name: str, parent: Sequence, closed: set[tuple[int, str]]) -> str:
    """Return the name of a further call of a module: with a number."""
    number, found = 0, name
    while (id(parent), found) in closed:
        number += 1
        found = f"{name}_{number}"
    return found


def _name(sequence: Sequence, path: str) -> None:
    """Name the lines of a sequence at ``path`` by the tensors that they hold; dissolve sequences of a single layer."""
    items: list[Item] = []
    for item in sequence.items:
        if isinstance(item, Step):
            item.name = _held_name(item.line, path)
            item.given = bool(item.name)
            items.append(item)
            continue
        inner = f"{path}.{item.name}" if path else item.name
        _name(item, inner)
        items += _dissolved(item, inner)
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
    """Return the name that gives the tensors of a line their own paths, in a sequence at ``path``; or an empty one."""
    held = _held_path(line)
    if held is None:
        return ""
    if not path:
        return held
    return held.removeprefix(f"{path}.") if held.startswith(f"{path}.") else ""
