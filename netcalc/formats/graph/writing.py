"""Lines of a spec from the items of a body: names, inputs that are not the line before, and attributes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from netcalc.dims import Poly
from netcalc.formats.graph.item_names import with_branches
from netcalc.formats.graph.items import Call, Cycle, Entry, Expression, Item, Sequence, Step, Turns, inside, last_value
from netcalc.formats.graph.model import Value, given, operation_named
from netcalc.formats.graph.naming import Names
from netcalc.opdef import Operation

#: Characters that begin an expression or a number in the names of a checkpoint section, or stand for any text.
_SPECIAL = re.compile(r"\*|\$(?=\{)|\{(?=\})")


class Body(NamedTuple):
    """The items of a spec or block.

    Attributes:
        items: its lines, in order.
        inputs: its inputs by name, the first one first.
        outputs: the values that it gives.
        paths: of the items, and of others that lead into it, relative to it.
        is_block: True for a block, whose only output needs no name if the last line makes it.
        path, place: of the module in the source and in the network, if it is a block.
    """

    items: list[Item]
    inputs: Mapping[str, Value]
    outputs: tuple[Value, ...]
    paths: Collection[str] = ()
    is_block: bool = False
    path: str = ""
    place: str = ""


class Written(NamedTuple):
    """The lines of a body, the entries of its checkpoint section, and the names of its outputs, if they need any."""

    lines: list[Any]
    checkpoint: dict[str, Any]
    outputs: list[str]


def written_body(body: Body) -> Written:
    """Return the lines of a body; names are given to the items that others refer to."""
    writer = _Writer(body)
    first = next(iter(body.inputs.values()), None)
    last = writer.refer(body.items, first)
    named = body.outputs if body.outputs != (last,) or not body.is_block else ()
    for value in named:
        writer.names.need(value)
    writer.names.give(body.items, body.paths)
    while True:
        aliases = writer.names.aliases_given()
        copies = writer.names.copies
        writer.names.scopes = [set()]
        lines, _ = writer.lines(body.items, None if copies else first, ())
        outputs = writer.names.outputs(named)
        if writer.names.aliases_given() == aliases:  # no more were found while the lines were written
            break
    copied = [{"name": name, "from": body_input, "identity": {}} for body_input, name in copies.items()]
    repeated = writer.names.repeated(outputs) if body.is_block else {}
    lines += [{"name": copy, "from": outputs[index], "identity": {}} for index, copy in repeated.items()]
    names = [repeated.get(index, name) for index, name in enumerate(outputs)]
    return Written([*copied, *lines], writer.checkpoint, names)


class _Writer:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.names = Names(body.items, body.inputs)
        self.checkpoint: dict[str, Any] = {}

    def refer(self, items: list[Item], current: Value | None) -> Value | None:
        """Note the values that lines take by name; return the value that the line after the items follows."""
        for item in items:
            if isinstance(item, Sequence):
                current = self.refer(item.items, current)
                continue
            if isinstance(item, Cycle):
                for value in item.calls[0].inputs:
                    if value is not current or value is not item.calls[0].inputs[0]:
                        self.names.need(value)
                for call in item.calls:
                    current = self.refer([call], current)
                current = item.whole[-1].outputs[0]
                continue
            if isinstance(item, Turns):
                self.refer(item.items, current)
                current = last_value(item)
                continue
            taken = _taken_values(item)
            if taken != [current]:
                for index, value in enumerate(taken):
                    if value is not current or (index and _varies(item)):
                        self.names.need(value)
            if isinstance(item, Step):
                for branch in item.branches.values():
                    self.refer(branch, item.origin)
            current = _result(item)
        return current

    def lines(
        self, items: list[Item], current: Value | None, around: tuple[Sequence, ...]
    ) -> tuple[list[Any], Value | None]:
        """Return the lines of items, and the value of the last one."""
        written: list[Any] = []
        for item in items:
            if isinstance(item, Sequence):
                with self.names.inner_scope():
                    inner, current = self.lines(item.items, current, (*around, item))
                written.append({"name": item.name, **self._module(item, around), "sequence": inner})
            elif isinstance(item, Cycle):
                written.append(self._cycle(item, current, around))
                current = item.whole[-1].outputs[0]
            elif isinstance(item, Turns):
                with self.names.inner_scope():
                    written.append(self._turns(item, current, around))
                current = last_value(item)
            else:
                written.append(self._line(item, current, around))
                current = _result(item)
            self.names.define(item)
        return written, current

    def _cycle(self, cycle: Cycle, current: Value | None, around: tuple[Sequence, ...]) -> dict[str, Any]:
        start = cycle.calls[0].inputs[0]
        source = {} if start is current else {"from": self.names.reference(start, around)}
        lines, _ = self.lines(list(cycle.calls), start, around)
        for call, line in zip(cycle.calls, lines, strict=True):
            turn = f"{cycle.step} * turn" if cycle.step > 1 else "turn"
            number = "index" if call.times else str(call.start)
            line["name"] = f"{call.stem}${{{turn} + {number}}}"
        return {**source, "repeat": {"times": cycle.times, "index": "turn"}, "sequence": lines}

    def _turns(self, turns: Turns, current: Value | None, around: tuple[Sequence, ...]) -> dict[str, Any]:
        for item in with_branches(turns.items):
            if isinstance(item, (Step, Call)) and id(item) in turns.names:
                item.name = turns.names[id(item)]
        lines, _ = self.lines(turns.items, current, around)
        label = {"as": turns.name} if turns.name else {}
        return {**label, "repeat": {"times": turns.times, "index": "turn"}, "sequence": lines}

    def _line(self, item: Step | Call, current: Value | None, around: tuple[Sequence, ...]) -> Any:
        line: dict[str, Any] = {"name": item.name} if item.name else {}
        if (source := self._source(item, current, around)) is not None:
            line["from"] = source
        if id(item) in self.names.aliases:
            names = self.names.aliases[id(item)]
            line["as"] = names if len(names) > 1 else names[0]
        line |= self._module(item, around)
        if isinstance(item, Call):
            return line | self._call(item)
        if item.ties:
            line["tie"] = {name: inside(path, self.body.place) for name, path in item.ties.items()}
        if item.frozen:
            line["freeze"] = True
        self._enter(item, around)
        value = _attributes(item)
        if item.branches:
            value = dict(value or {})
            for label, branch in item.branches.items():
                value[label] = self.lines(branch, item.origin, around)[0]
            return {**line, item.line.operation: value}
        if not line and not value:
            return item.line.operation
        return {**line, item.line.operation: _short(operation_named(item.line.operation), value)}

    def _call(self, call: Call) -> dict[str, Any]:
        line: dict[str, Any] = {}
        if call.times:
            collected = {suffix.removeprefix("."): "list" for suffix in call.block.suffixes[call.passed :]}
            repeat = {
                "times": call.times,
                **({"start": call.start} if call.start else {}),
                **({"collect": collected} if collected else {}),
            }
            line["repeat"] = repeat if len(repeat) > 1 else call.times
            if call.shares:
                line["share"] = True
        elif call.shares:
            line["tie"] = inside(call.shares, self.body.place)
        defaults = call.block.arguments
        arguments = {name: plain(value) for name, value in call.arguments.items() if value is not defaults.get(name)}
        (only,) = defaults if len(defaults) == 1 else ("",)
        short = only in arguments and not isinstance(arguments[only], (dict, list))
        return {**line, call.block.name: arguments[only] if short else arguments}

    def _module(self, item: Step | Call | Sequence, around: tuple[Sequence, ...]) -> dict[str, str]:
        """Return what ``module`` says: the module that an item is a call of, unless it has the path of this module."""
        module = item.module
        names = [self.body.place, *(sequence.name for sequence in around), item.name]
        if not module or module == ".".join(filter(None, names)):
            return {}
        for sequence in reversed(around):
            if sequence.module and module.startswith(f"{sequence.place}."):
                module = sequence.module + module.removeprefix(sequence.place)
        path = inside(module, self.body.place)
        return {"module": path if self.body.is_block else path.removeprefix("/")}

    def _source(self, item: Step | Call, current: Value | None, around: tuple[Sequence, ...]) -> Any:
        """Return what ``from`` says: None if the item takes the line before, or nothing."""
        taken = _taken_values(item)
        if not taken or taken == [current]:
            return None
        if isinstance(item, Step) and not item.branches and None in (inputs := given(item.line.inputs)):
            ports = zip(operation_named(item.line.operation).inputs, inputs, strict=False)
            return {port.name: self._name(value, current, around) for port, value in ports if value is not None}
        names: list[str] = []
        index = 0
        while index < len(taken):
            value = taken[index]
            gathered = self.names.gathered.get(value, []) if isinstance(item, Step) and _is_variadic(item) else []
            if gathered and taken[index : index + len(gathered)] == gathered:
                names.append(self.names.reference(value, around).rpartition(".")[0])
                index += len(gathered)
            else:
                names.append(self._name(value, None if index and _varies(item) else current, around))
                index += 1
        return names[0] if len(names) == 1 else names

    def _name(self, value: Value, current: Value | None, around: tuple[Sequence, ...]) -> str:
        return "_" if value is current else self.names.reference(value, around)

    def _enter(self, item: Step, around: tuple[Sequence, ...]) -> None:
        """Add the places of an item's parameters to the checkpoint section."""
        path = ".".join([*(sequence.name for sequence in around), item.name])
        for name, entry in item.entries.items():
            if name in item.ties:
                continue
            if self.body.path:
                entry = entry.moved(self.body.path)
            self.checkpoint[f"{path}.{name}" if name else path] = _entry(entry)


def _taken_values(item: Step | Call) -> list[Value]:
    """Return the values that an item takes: the values of its ports, or the one from which its branches start."""
    if isinstance(item, Call):
        return list(item.inputs)
    if item.origin is not None:
        return [item.origin]
    taken = [value for value in item.line.inputs if value is not None]
    first_is_missing = len(taken) == 1 and item.line.inputs[0] is None
    return [*taken, *taken] if first_is_missing else taken  # never the line before alone


def _is_variadic(item: Step) -> bool:
    """Return True for an operation that takes any number of tensors."""
    return any(port.variadic for port in operation_named(item.line.operation).inputs)


def _varies(item: Step | Call) -> bool:
    """Return True for a repeat whose iterations differ or give values, in which ``_`` is the result before each."""
    if isinstance(item, Step) or not item.times:
        return False
    carried = [value.type for value in item.inputs[: item.passed]]
    results = [value.type for value in item.outputs[: item.passed]]
    by_index = "$" in item.name or any(isinstance(value, Expression) for value in item.arguments.values())
    return by_index or carried != results or len(item.outputs) > item.passed


def _result(item: Step | Call) -> Value | None:
    outputs = item.outputs if isinstance(item, Call) else item.line.outputs
    return outputs[0] if outputs else None


def _entry(entry: Entry) -> Any:
    """Return the place of a parameter as a checkpoint section has it."""
    form: dict[str, Any] = {"chunk" if entry.equal else "slice": list(entry.part)} if entry.part else {}
    if entry.transpose:
        form["transpose"] = True
    names = [_literal(path) for path in (entry.path, *entry.also)]
    places = [{"from": name, **form} if form else name for name in names]
    return places[0] if len(places) == 1 else {"any": places}


def _literal(path: str) -> str:
    """Return a path as the name of a checkpoint section that stands for it: no expression, number or pattern in it."""
    return _SPECIAL.sub(lambda special: f'${{"{special[0]}"}}', path)


def _attributes(item: Step) -> dict[str, Any]:
    """Return the attributes of a line that are not the defaults, as a spec has them."""
    fields = operation_named(item.line.operation).model_fields
    return {
        name: plain(value)
        for name, value in item.line.attributes.items()
        if not (type(value) is type(fields[name].default) and value == fields[name].default)
    }


def _short(operation: type[Operation], attributes: dict[str, Any]) -> Any:
    """Return attributes, or the value of the only one if the operation's shorthand sets it."""
    if list(attributes) != [operation.shorthand]:
        return attributes
    (value,) = attributes.values()
    return attributes if isinstance(value, dict) or value is None else value


def plain(value: Any) -> Any:
    """Return the value of an attribute as data of a document: sizes and expressions as texts."""
    if isinstance(value, (Poly, Expression)):
        return f"${{{value.text if isinstance(value, Expression) else value}}}"
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value
