"""Structure of sequences: equal for those that differ in attributes only."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from netcalc.formats.graph.items import Item, Sequence, Step, inside
from netcalc.formats.graph.model import Line, Value, operation_named
from netcalc.formats.graph.uses import made_by, use_counts
from netcalc.limits import MAX_EXPRESSION


class Structure(NamedTuple):
    """The structure of a sequence.

    Attributes:
        key: what equal sequences have in common: operations, names, wiring and tensors, without attributes.
        inputs: the values that it takes from outside, in the order of their first use.
        made: the values that it makes.
        given: the numbers of those among them that others use.
    """

    key: Hashable
    inputs: tuple[Value, ...]
    made: tuple[Value, ...]
    given: frozenset[int]


def kept(line: Line) -> str:
    """Return what no argument of a block can hold: the lines of an operation, and values that are too long."""
    name = operation_named(line.operation).lines_attribute
    values = [repr(value) for value in line.attributes.values() if isinstance(value, (list, tuple))]
    long = [value for value in values if len(value) > MAX_EXPRESSION // 2]
    return "".join(long if name is None else [repr(line.attributes.get(name)), *long])


def structure_of(sequence: Sequence, used: Mapping[Value, int]) -> Structure:
    """Return the structure of a sequence, given the number of uses of each value in the network."""
    made = tuple(value for item in sequence.items for value in made_by(item))
    numbers = {value: index for index, value in enumerate(made)}
    inputs: dict[Value, int] = {}

    def number(value: Value | None) -> int | None:
        if value is None or value in numbers:
            return None if value is None else numbers[value]
        return ~inputs.setdefault(value, len(inputs))

    def key(items: list[Item]) -> Hashable:
        return tuple(_key(item) for item in items)

    def _key(item: Item) -> Hashable:
        module = inside(item.module, sequence.place) if isinstance(item, (Sequence, Step)) and item.module else ""
        if isinstance(item, Sequence):
            return (item.name, module, key(item.items))
        assert isinstance(item, Step)  # blocks are not called before structures are known
        line = item.line
        return (
            item.name if line.parameters else "",
            line.operation,
            kept(line),
            tuple(number(value) for value in line.inputs),
            len(line.outputs),
            tuple(sorted(line.parameters)),
            tuple(sorted((n, entry.moved(sequence.path)) for n, entry in item.entries.items())),
            ()
            if sequence.shares
            else tuple(sorted((n, inside(path, sequence.place)) for n, path in item.ties.items())),
            item.frozen,
            module,
        )

    within = use_counts([sequence])
    results = frozenset(index for index, value in enumerate(made) if used[value] > within[value])
    return Structure(key(sequence.items), tuple(inputs), made, results)
