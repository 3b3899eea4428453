"""Texts by which lines refer to values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from netcalc.formats.graph.item_names import give_names, names_of, with_branches
from netcalc.formats.graph.items import Call, Cycle, Item, Sequence, Step, Turns, free_name, last_value
from netcalc.formats.graph.model import Value, operation_named


class _Place(NamedTuple):
    """The item that makes a value, the sequences around it, and what follows the item's name in the name of the value.

    ``name`` is the value's own, if a call makes it whose name is not fixed.  Of a value that a repeat collects,
    ``number`` is that of the iteration, and ``output`` that of the output of the block.
    """

    item: Step | Call | Turns
    around: tuple[Sequence, ...]
    suffix: str
    name: str = ""
    number: int | None = None
    output: int = 0

    @property
    def has_only_alias(self) -> bool:
        """True for what a repeat collects whose iterations have names of their own."""
        return self.number is not None and "$" in self.item.name


class Names:
    """The names in a body: which items need one, and the texts that refer to their values.

    Attributes:
        aliases: second names of the values of items, by the identities of these.
        copies: names for copies of inputs, by the names of these.
        gathered: all values that a repeat collects of one output, by the first of them.
        scopes: the names that lines have defined so far, in the body and in the sequences around the present line.
    """

    def __init__(self, items: list[Item], inputs: Mapping[str, Value]) -> None:
        self.inputs = {value: name for name, value in inputs.items()}
        self.places: dict[Value, _Place] = {}
        self.needed: set[int] = set()
        self.aliases: dict[int, list[str]] = {}
        self.copies: dict[str, str] = {}
        self.gathered: dict[Value, list[Value]] = {}
        self.scopes: list[set[str]] = [set()]
        self._find(items, ())

    def _find(self, items: list[Item], around: tuple[Sequence, ...]) -> None:
        names = [name for item in with_branches(items) for name in names_of(item)]
        for item in items:
            if isinstance(item, Sequence):
                self._find(item.items, (*around, item))
                continue
            if isinstance(item, Step):
                for branch in item.branches.values():
                    self._find(branch, around)
                for value, suffix in zip(item.line.outputs, _suffixes(item), strict=True):
                    self.places[value] = _Place(item, around, suffix)
                continue
            if isinstance(item, Turns):
                self.places[last_value(item)] = _Place(item, around, "")
                continue
            for call in item.whole if isinstance(item, Cycle) else [item]:
                for value, name in _call_values(call, names, in_cycle=isinstance(item, Cycle)):
                    self.places[value] = _Place(call, around, "", name)
                for output in range(call.passed, len(call.outputs) if call.times else 0):
                    values = [outputs[output] for outputs in (*call.earlier, call.outputs)]
                    self.gathered[values[0]] = values
                    for number, value in enumerate(values):
                        suffix = f"{call.block.suffixes[output]}.{number}"
                        self.places[value] = _Place(call, around, suffix, number=number, output=output)

    def need(self, value: Value) -> None:
        """Note a value that needs a name."""
        if value in self.places:
            self.needed.add(id(self.places[value].item))

    def give(self, items: list[Item], paths: Collection[str]) -> None:
        """Name the items that others refer to, and those whose paths would be those of others; drop other names."""
        give_names(items, self.needed, self.inputs.values(), paths)

    def reference(self, value: Value, around: tuple[Sequence, ...]) -> str:
        """Return the text that names a value in a line inside the sequences ``around``."""
        if value in self.inputs:
            name = self.inputs[value]
            return self._copy(name) if any(name in scope for scope in self.scopes) else name
        place = self.places[value]
        shared = 0
        while shared < min(len(around), len(place.around)) and around[shared] is place.around[shared]:
            shared += 1
        last = place.name or place.item.name
        path = [*(sequence.name for sequence in place.around[shared:]), last]
        if place.has_only_alias:
            return ".".join([*path[:-1], self._alias(value, place)])
        if any(_defines(sequence, path[0]) for sequence in around[shared:]):
            whole = [*(sequence.name for sequence in place.around), last]
            if any(_defines(sequence, whole[0]) for sequence in around):
                return ".".join([*path[:-1], self._alias(value, place)])
            path = whole
        return ".".join(path) + place.suffix

    def outputs(self, values: Iterable[Value]) -> list[str]:
        """Return the texts that name outputs, which are called by the last parts of these.

        No two parts are equal, but numbers of values that iterations collect; see :meth:`repeated`.
        """
        names: list[str] = []
        taken: set[str] = set()
        for value in values:
            name = self.reference(value, ())
            if name.rpartition(".")[2] in taken and value in self.places:
                place = self.places[value]
                name = ".".join([*(sequence.name for sequence in place.around), self._alias(value, place)])
            names.append(name)
            taken.add(name.rpartition(".")[2])
        return names

    def repeated(self, outputs: list[str]) -> dict[int, str]:
        """Return names for copies of the outputs whose last parts are those of earlier ones, by their indices."""
        parts = [name.rpartition(".")[2] for name in outputs]
        copies: dict[int, str] = {}
        for index, name in enumerate(outputs):
            if parts[index] in parts[:index]:
                copies[index] = free_name(name.replace(".", "_"), self._taken().union(parts, copies.values()))
        return copies

    def define(self, item: Item) -> None:
        """Note that a line has been written, the names of which have a meaning from here on."""
        self.scopes[-1].update(names_of(item))

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        """Define names for the lines of a sequence only."""
        self.scopes.append(set())
        yield
        self.scopes.pop()

    def aliases_given(self) -> int:
        """Return the number of items and inputs that have a second name."""
        return len(self.aliases) + len(self.copies)

    def _copy(self, name: str) -> str:
        """Return the name of a copy of an input, the name of which stands for the value of a module."""
        if name not in self.copies:
            self.copies[name] = free_name(f"{name}_input", self._taken())
        return self.copies[name]

    def _taken(self) -> set[str]:
        names = {place.item.name.partition(".")[0] for place in self.places.values()}
        return names.union(self.inputs.values(), self.copies.values(), *self.aliases.values())

    def _alias(self, value: Value, place: _Place) -> str:
        """Return a second name of a value, the name of which stands for another one where it is needed."""
        outputs = _outputs(place.item)
        if place.number is None and value not in outputs:  # of an earlier iteration
            return (place.name or place.item.name) + place.suffix
        if id(place.item) not in self.aliases:
            taken = self._taken()
            names = self.aliases[id(place.item)] = []
            for _ in outputs:
                names.append(free_name(f"outer_{_word(place.item.name)}", taken.union(names)))
        if place.number is not None:
            return f"{self.aliases[id(place.item)][place.output]}.{place.number}"
        return self.aliases[id(place.item)][outputs.index(value)]


def _word(name: str) -> str:
    """Return a name as a word, without the number of an iteration."""
    return name.replace("${index}", "").replace(".", "_").rstrip("_")


def _outputs(item: Step | Call | Turns) -> tuple[Value, ...]:
    """Return the values that a line with names for its outputs names."""
    if isinstance(item, Turns):
        return (last_value(item),)
    return item.outputs if isinstance(item, Call) else item.line.outputs


def _call_values(call: Call, names: Collection[str], *, in_cycle: bool) -> Iterator[tuple[Value, str]]:
    """Yield the values that a call makes, with their names: of an iteration, those with its number.

    ``names`` are those of the lines in the same list.
    """
    own = {*names_of(call)}
    passed = call.passed if call.times else len(call.outputs)
    for index, outputs in enumerate([*call.earlier, call.outputs]):
        is_last = index == len(call.earlier)
        number = call.start + index
        name = ""
        if (
            call.stem is not None
            and (call.times or in_cycle)
            and not (is_last and "$" not in call.name and not in_cycle)
        ):
            name = f"{call.stem}{number}"
        suffixes = list(call.block.suffixes)
        if name and call.times and "$" not in call.name and number < passed > 1:  # the number of an output
            suffixes[0] = f".{call.block.first_output}"
        if call.times and not name:  # the outputs of a repeat are numbered
            numbered = [f".{place}" if place else "" for place in range(passed)]
            clash = any(
                f"{call.name}{suffix}" in names and f"{call.name}{suffix}" not in own for suffix in numbered[1:]
            )
            if clash and call.stem is not None:
                suffixes = ["", *(f"{call.stem}{number}{suffix}".removeprefix(call.name) for suffix in suffixes[1:])]
            else:
                suffixes = numbered
        for value, suffix in zip(outputs[:passed], suffixes, strict=False):
            yield value, (name or call.name) + suffix


def _suffixes(item: Step) -> list[str]:
    """Return what follows an item's name in the name of each output."""
    outputs = item.line.outputs
    if len(outputs) <= 1:
        return [""] * len(outputs)
    operation = operation_named(item.line.operation)
    if len(operation.outputs) >= len(outputs) and not operation.outputs[0].variadic:
        return [f".{port.name}" for port in operation.outputs[: len(outputs)]]
    return [f".{index}" for index in range(len(outputs))]


def _defines(sequence: Sequence, name: str) -> bool:
    """Return True if a sequence has an item with this name, or under this name; also one of a repeat."""
    names = (own_name for item in with_branches(sequence.items) for own_name in names_of(item) if own_name)
    return any(f"{own_name}.".startswith(f"{name}.") or f"{name}.".startswith(f"{own_name}.") for own_name in names)
