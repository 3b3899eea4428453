"""The tree of module calls of a graph: named sequences of lines, as the modules of the source are nested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netcalc.formats.graph.items import Item, Sequence, Step, free_name, spec_name
from netcalc.formats.graph.model import Graph, Line, ModuleCall, Stored, operation_named


def tree_of(graph: Graph) -> Sequence:
    """Return the tree of a graph; its root is the network, without a name.

    A module that is the only line of its call, or the only parameters of it, has no sequence of its own.
    """
    root = Sequence("", "", graph.name)
    opened: list[tuple[ModuleCall | None, Sequence]] = [(None, root)]
    closed: set[ModuleCall] = set()
    paths = {path for line in graph.lines for call in line.scope for path in _with_owners(call.path)}
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
            sequence = Sequence(_call_name(call, parent, paths), call.path, call.kind)
            parent.items.append(sequence)
            opened.append((call, sequence))
        opened[-1][1].items.append(Step(replace(line, attributes=dict(line.attributes))))  # arguments replace some
    _name(root, set(), set())
    return root


def _with_owners(path: str) -> Iterator[str]:
    """Yield the path of a module, and of those around it, which may be lists that are never called."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _call_name(call: ModuleCall, parent: Sequence, paths: set[str]) -> str:
    """Return a free name for a call in the sequence around it: a further call does not take the path of a module."""
    taken = {item.name for item in parent.items}
    own = name = spec_name(_relative(call, parent))
    while name in taken:
        name = free_name(own, taken)
        if (f"{parent.path}.{name}" if parent.path else name) in paths:
            taken.add(name)
    return name


def _relative(call: ModuleCall, parent: Sequence) -> str:
    """Return the name of a call in the sequence around it; of the whole model, the name of its class."""
    return call.path.removeprefix(f"{parent.path}.") if parent.path else call.path or call.kind


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
            name = "" if tied else spec_name(_held_name(item.line, sequence.path))
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
        steps[0].name, steps[0].given, steps[0].path = sequence.name, True, path
        return [*steps]
    if len(holders) == 1 and all(step is holders[0] or not step.line.parameters for step in steps):
        _name_around(holders[0], steps, sequence.name, path)
        holders[0].name, holders[0].given, holders[0].path = sequence.name, True, path
        return [*steps]
    return [sequence]


def _name_around(holder: Step, steps: list[Step], name: str, path: str) -> None:
    """Name the lines of a module at a path that stand around the one of its tensors, which has the module's name.

    Lines of the same module have no work and need no name if they are views.
    """
    taken = {step.name for step in steps if step.given}
    for step in steps:
        if step is holder or (not step.given and operation_named(step.line.operation).view):
            continue
        if not step.given:
            step.name, step.given = free_name(step.line.operation, taken), True
            step.path = f"{path}.{step.name}"
            taken.add(step.name)
        step.name = f"{name}.{step.name}"


def _held_path(line: Line) -> str | None:
    """Return the path of the module whose tensors a line holds; None if it holds none, or tensors of several."""
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
