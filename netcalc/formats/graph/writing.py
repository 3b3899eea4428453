"""Lines of a spec from the items of a body: names, inputs that are not the line before, and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from netcalc.dims import Poly
from netcalc.formats.graph.model import Stored, Value
from netcalc.formats.graph.tree import Item, Sequence, Step
from netcalc.ops import find

__all__ = ["Body", "written_body"]


class Body(NamedTuple):
    """The items of a spec or block, its inputs by name, the first one first, and its outputs by name."""

    items: list[Item]
    inputs: Mapping[str, Value]
    outputs: Mapping[str, Value]


class _Place(NamedTuple):
    """The item that makes a value, the sequences around it, and the port."""

    item: Step
    around: tuple[Sequence, ...]
    port: str


def written_body(body: Body) -> tuple[list[Any], dict[str, Any], Any]:
    """Return the lines of a body, the entries of its checkpoint section, and its outputs."""
    writer = _Writer(body)
    first = next(iter(body.inputs.values()), None)
    last = writer.refer(body.items, first, ())
    for value in body.outputs.values():
        writer.need(value)
    writer.name_items()
    lines, _ = writer.lines(body.items, first, ())
    del last
    outputs = {name: writer.reference(value, ()) for name, value in body.outputs.items()}
    return lines, writer.checkpoint, outputs


class _Writer:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.inputs = {id(value): name for name, value in body.inputs.items()}
        self.places: dict[int, _Place] = {}
        self.needed: set[int] = set()
        self.checkpoint: dict[str, Any] = {}
        self._find(body.items, ())

    def _find(self, items: list[Item], around: tuple[Sequence, ...]) -> None:
        for item in items:
            if isinstance(item, Sequence):
                self._find(item.items, (*around, item))
                continue
            ports = _ports(item)
            for value, port in zip(item.line.outputs, ports, strict=True):
                self.places[id(value)] = _Place(item, around, port)

    def refer(self, items: list[Item], current: Value | None, around: tuple[Sequence, ...]) -> Value | None:
        """Note the values that lines take by name; return the value that the line after the items follows."""
        for item in items:
            if isinstance(item, Sequence):
                current = self.refer(item.items, current, (*around, item))
                continue
            if not _follows(item, current):
                for value in item.line.inputs:
                    if value is not None and value is not current:
                        self.need(value)
            current = item.line.outputs[0] if item.line.outputs else None
        return current

    def need(self, value: Value) -> None:
        """Note a value that needs a name."""
        if id(value) in self.places:
            self.needed.add(id(self.places[id(value)].item))

    def name_items(self) -> None:
        """Give each item that others name a name of its own, and drop names that nothing needs."""
        self._name(self.body.items, set(self.inputs.values()))

    def _name(self, items: list[Item], visible: set[str]) -> None:
        numbered = bool(items) and [item.name for item in items] == [str(index) for index in range(len(items))]
        taken = visible | {item.name.partition(".")[0] for item in items if item.name}
        for item in items:
            if isinstance(item, Step) and id(item) in self.needed:
                if not item.name:
                    item.name = _free(item.line.operation, taken)
                    taken.add(item.name)
            elif isinstance(item, Step) and not item.line.parameters and not (item.name.isdigit() and not numbered):
                item.name = ""
        for item in items:
            if isinstance(item, Sequence):
                self._name(item.items, taken)

    def reference(self, value: Value, around: tuple[Sequence, ...]) -> str:
        """Return the text that names a value in a line inside the sequences ``around``."""
        if id(value) in self.inputs:
            return self.inputs[id(value)]
        place = self.places[id(value)]
        shared = 0
        while shared < min(len(around), len(place.around)) and around[shared] is place.around[shared]:
            shared += 1
        path = [*(sequence.name for sequence in place.around[shared:]), place.item.name]
        if any(_defines(sequence, path[0]) for sequence in around[shared:]):
            path = [*(sequence.name for sequence in place.around), place.item.name]
        return ".".join([*path, place.port] if place.port else path)

    def lines(
        self, items: list[Item], current: Value | None, around: tuple[Sequence, ...]
    ) -> tuple[list[Any], Value | None]:
        """Return the lines of items, and the value of the last one."""
        written: list[Any] = []
        for item in items:
            if isinstance(item, Sequence):
                inner, current = self.lines(item.items, current, (*around, item))
                written.append({"name": item.name, "sequence": inner})
                continue
            written.append(self._line(item, current, around))
            self._enter(item, around)
            current = item.line.outputs[0] if item.line.outputs else None
        return written, current

    def _line(self, item: Step, current: Value | None, around: tuple[Sequence, ...]) -> Any:
        line: dict[str, Any] = {}
        if item.name:
            line["name"] = item.name
        if not _follows(item, current):
            line["from"] = self._inputs(item, current, around)
        if item.ties:
            line["tie"] = dict(item.ties)
        if item.frozen:
            line["freeze"] = True
        value = _attributes(item)
        if not line and value is None:
            return item.line.operation
        line[item.line.operation] = {} if value is None else value
        return line

    def _inputs(self, item: Step, current: Value | None, around: tuple[Sequence, ...]) -> Any:
        given = item.line.inputs
        names = [None if v is None else "_" if v is current else self.reference(v, around) for v in given]
        while names and names[-1] is None:
            names.pop()
        if None in names:
            operation = find(item.line.operation)
            assert operation is not None  # the builder found it
            return {port.name: name for port, name in zip(operation.inputs, names, strict=False) if name is not None}
        return names[0] if len(names) == 1 else names

    def _enter(self, item: Step, around: tuple[Sequence, ...]) -> None:
        """Add the places of an item's parameters to the checkpoint section."""
        path = ".".join([*(sequence.name for sequence in around), item.name])
        for name, stored in item.entries.items():
            self.checkpoint[f"{path}.{name}" if name else path] = _entry(stored)


def _entry(stored: Stored) -> Any:
    entry: dict[str, Any] = {"from": stored.path}
    if stored.part is not None:
        entry["slice"] = list(stored.part)
    if stored.transpose:
        entry["transpose"] = True
    return entry if len(entry) > 1 else stored.path


def _follows(item: Step, current: Value | None) -> bool:
    """Return True if the only input of an item is the value of the line before, or it has no inputs."""
    operation = find(item.line.operation)
    assert operation is not None  # the builder found it
    if not operation.inputs:
        return True
    given = [value for value in item.line.inputs if value is not None]
    return len(given) == 1 and given[0] is current and item.line.inputs[0] is current


def _ports(item: Step) -> list[str]:
    """Return what follows an item's name in the name of each output."""
    outputs = item.line.outputs
    if len(outputs) <= 1:
        return [""] * len(outputs)
    operation = find(item.line.operation)
    assert operation is not None  # the builder found it
    if len(operation.outputs) == len(outputs):
        return [port.name for port in operation.outputs]
    return [str(index) for index in range(len(outputs))]


def _attributes(item: Step) -> Any:
    """Return the attributes of a line as a spec has them; None if there are none."""
    operation = find(item.line.operation)
    assert operation is not None  # the builder found it
    given = {name: _plain(value) for name, value in item.line.attributes.items()}
    if not given:
        return None
    ((name, value),) = given.items() if len(given) == 1 else ((None, None),)
    return value if name is not None and name == operation.shorthand and not isinstance(value, dict) else given


def _plain(value: Any) -> Any:
    if isinstance(value, Poly):
        return f"${{{value}}}"
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _free(name: str, taken: set[str]) -> str:
    number, found = 0, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _defines(sequence: Sequence, name: str) -> bool:
    """Return True if a sequence has an item with this name, or under this name."""
    return any(item.name == name or item.name.startswith(f"{name}.") for item in sequence.items)
