"""Arguments of a block: the attributes in which its calls differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from netcalc.dims import Poly
from netcalc.formats.graph.items import Call, Expression, Item, Required, Sequence, Step, free_name
from netcalc.formats.graph.model import operation_named


class _Slot(NamedTuple):
    """An attribute of a line, or an argument of a call; ``values`` holds the attributes or arguments themselves."""

    owner: str
    name: str
    values: dict[str, Any]


def arguments_of(group: list[Sequence]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the arguments of the block of equal sequences, and those that each sequence gives.

    The items of the first sequence become the items of the block: attributes that differ are expressions there.
    """
    names = _names(group)
    columns = list(zip(*(list(_slots(sequence.items, names)) for sequence in group), strict=True))
    taken: dict[str, list[Any]] = {}
    declared: dict[str, Any] = {}
    for column in columns:
        values = [_value(slot) for slot in column]
        slot = column[0]
        if all(_same_value(value, values[0]) for value in values):
            continue
        name = next((name for name, taken_values in taken.items() if all(map(_same_value, taken_values, values))), None)
        text = name or _multiple(values, taken)
        if text is None:
            text = _free(slot, taken)
            taken[text] = values
            declared[text] = _declared(values)
        slot.values[slot.name] = Expression(text)
    passed = [
        {
            name: values[index]
            for name, values in taken.items()
            if isinstance(declared[name], Required) or not _same_value(values[index], declared[name])
        }
        for index in range(len(group))
    ]
    return declared, passed


def _names(group: list[Sequence]) -> list[list[str]]:
    """Return the names of the attributes that any of the sequences gives, for each line in order."""
    lines = zip(*(list(_owners(sequence.items)) for sequence in group), strict=True)
    return [sorted({name for item in items for name in _item_arguments(item)}, key=_order(items[0])) for items in lines]


def _order(item: Step | Call) -> Any:
    """Return the key that sorts attributes as the operation declares them."""
    if isinstance(item, Call):
        return list(item.block.arguments).index
    return list(operation_named(item.line.operation).model_fields).index


def _owners(items: list[Item]) -> Iterator[Step | Call]:
    for item in items:
        if isinstance(item, Sequence):
            yield from _owners(item.items)
        elif isinstance(item, (Step, Call)):  # no cycles have been made yet
            yield item


def _item_arguments(item: Step | Call) -> dict[str, Any]:
    return item.arguments if isinstance(item, Call) else item.line.attributes


def _slots(items: list[Item], names: list[list[str]]) -> Iterator[_Slot]:
    for item, own in zip(_owners(items), names, strict=True):
        for name in own:
            arguments = _item_arguments(item)
            if name not in arguments:
                arguments[name] = _default(item, name)
            if isinstance(arguments[name], float) and math.isnan(arguments[name]):
                arguments[name] = math.nan  # the same object, which equals itself in lists and mappings
            yield _Slot(item.name, name, arguments)


def _default(item: Step | Call, name: str) -> Any:
    """Return the value of an attribute or argument that a line does not give."""
    if isinstance(item, Call):
        return item.block.arguments[name]
    return operation_named(item.line.operation).model_fields[name].default


def _value(slot: _Slot) -> Any:
    return slot.values[slot.name]


def _same_value(first: Any, other: Any) -> bool:
    both_nan = first != first and other != other  # a buffer without a known value
    return type(first) is type(other) and bool(both_nan or first == other)


def _multiple(values: list[Any], taken: dict[str, list[Any]]) -> str | None:
    """Return a multiple of an argument that equals the values; None if there is none."""
    for name, bases in taken.items():
        if all(
            type(value) is int and type(base) is int and base > 0 for value, base in zip(values, bases, strict=True)
        ):
            factor, rest = divmod(values[0], bases[0])
            if factor > 1 and not rest and all(v == factor * base for v, base in zip(values, bases, strict=True)):
                return f"{factor} * {name}"
    return None


def _free(slot: _Slot, taken: dict[str, list[Any]]) -> str:
    """Return a name for an argument: the attribute's name, after the line's if it is not the only one."""
    base = slot.name
    if base in taken and slot.owner.isidentifier():
        base = f"{slot.owner}_{slot.name}"
    return free_name(base, taken)


def _declared(values: list[Any]) -> Any:
    """Return the default of an argument: its most common value, if it is common; or its type."""
    if any(isinstance(value, Poly) for value in values):
        return Required("int")
    common = max(values, key=lambda value: sum(_same_value(value, other) for other in values))
    kinds = {type(value) for value in values}
    simple = len(kinds) == 1 and kinds <= {bool, int, float, str}
    if simple and 2 * sum(_same_value(common, value) for value in values) <= len(values):
        return Required(kinds.pop().__name__)
    return common if simple else Required("any")
