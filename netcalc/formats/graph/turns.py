"""Lines around numbered modules that come again, such as the residual connections in a loop over a list of modules."""

from __future__ import annotations

import re
from collections import Counter

from netcalc.formats.graph.items import Call, Item, Sequence, Step, Turns
from netcalc.formats.graph.model import Value
from netcalc.formats.graph.uses import made_by, use_counts

#: Largest number of items in a turn.
_LONGEST = 24

_NUMBER = re.compile("([0-9]+)")


def fold_turns(items: list[Item], used: Counter[Value]) -> list[Item]:
    """Return items with a repeat in place of those that come again with the next numbers in their names.

    Args:
        items: the items of a spec, block or sequence, with branches.
        used: the number of uses of each value.
    """
    for item in items:
        if isinstance(item, Sequence):
            item.items = fold_turns(item.items, used)
    result: list[Item] = []
    index = 0
    while index < len(items):
        turns = _longest(items, index, used)
        result.append(items[index] if turns is None else turns)
        index += 1 if turns is None else len(turns.whole)
    return result


def _longest(items: list[Item], start: int, used: Counter[Value]) -> Turns | None:
    """Return the turns that begin with an item and replace most items; None if there are none."""
    begin = _result(items[start - 1]) if start else None
    if begin is None or any(item.name.isdigit() for item in items):  # lines without a name would take such names
        return None
    best: Turns | None = None
    for size in range(1, min(_LONGEST, (len(items) - start) // 2) + 1):
        turns = _turns(items[start:], size, begin, used)
        if turns is not None and (best is None or len(turns.whole) > len(best.whole)):
            best = turns
    return best


def _turns(items: list[Item], size: int, begin: Value, used: Counter[Value]) -> Turns | None:
    """Return the turns of a size with which items begin; None if the first one does not come again."""
    first = items[:size]
    if not _is_chain(first, begin, used):
        return None
    steps: dict[int, str] = {}
    times, current = 1, _result(first[-1])
    while current is not None and used[current] == use_counts(items[times * size : times * size + 1])[current]:
        turn = items[times * size : (times + 1) * size]
        match = _Match(begin, current, times)
        alike = len(turn) == size and all(map(match.items, first, turn)) and _is_chain(turn, current, used)
        if not alike or not match.steps or (steps and match.steps != steps):
            break
        times, steps, current = times + 1, match.steps, _result(turn[-1])
    return Turns(first, times, steps, items[: times * size]) if times > 1 and current is not None else None


def _is_chain(turn: list[Item], begin: Value, used: Counter[Value]) -> bool:
    """Return True if each item takes the value of the one before alone, or values from outside the turn besides."""
    made = {value for item in turn for value in made_by(item)}
    last = _result(turn[-1])
    if last is None or not _takes_what_came_before(turn, begin, made):
        return False
    uses = use_counts(turn)
    return all(used[value] == uses[value] for value in made if value is not last) and not uses[last]


def _takes_what_came_before(items: list[Item], current: Value | None, made: set[Value]) -> bool:
    for item in items:
        if not isinstance(item, (Step, Call)):
            return False
        branches = item.branches.values() if isinstance(item, Step) else ()
        taken: tuple[Value | None, ...] = item.inputs if isinstance(item, Call) else item.line.inputs
        if branches and isinstance(item, Step):
            taken = (item.origin,)
            if not all(_takes_what_came_before(branch, item.origin, made) for branch in branches):
                return False
        if any(value in made and value is not current for value in taken if value is not None):
            return False
        current = _result(item)
    return True


def _result(item: Item) -> Value | None:
    """Return the value after which the next line follows."""
    if isinstance(item, Step):
        return item.line.outputs[0] if item.line.outputs else None
    if isinstance(item, Call):
        return item.outputs[0] if item.outputs else None
    return None


class _Match:
    """The comparison of a turn with the first one.

    ``values`` are counterparts of the values of the first turn, and ``steps`` the names of its items as expressions.
    """

    def __init__(self, begin: Value, current: Value | None, turn: int) -> None:
        self.values: dict[Value, Value | None] = {begin: current}
        self.turn = turn
        self.steps: dict[int, str] = {}

    def items(self, first: Item, other: Item) -> bool:
        """Return True if two items are alike."""
        if isinstance(first, Step) and isinstance(other, Step):
            return self._steps(first, other)
        if not isinstance(first, Call) or not isinstance(other, Call):
            return False
        return (
            first.block is other.block
            and first.times == other.times == 0
            and not first.shares
            and not other.shares
            and first.arguments == other.arguments
            and self._same_values(first.inputs, other.inputs)
            and self._same_names(first, other)
            and self._same_types(first.outputs, other.outputs)
        )

    def _steps(self, first: Step, other: Step) -> bool:
        alike = (
            first.line.operation == other.line.operation
            and first.line.attributes == other.line.attributes
            and list(first.line.parameters) == list(other.line.parameters)
            and list(first.branches) == list(other.branches)
            and first.frozen == other.frozen
            and not (first.ties or other.ties or first.entries or other.entries)
        )
        named = first.line.parameters or first.path != other.path  # calls of one module may have any names
        if not alike or (named and not self._same_names(first, other)):
            return False
        for a, b in zip(first.branches.values(), other.branches.values(), strict=True):
            if len(a) != len(b) or not all(map(self.items, a, b)):
                return False
        origins = self._same_values((first.origin,), (other.origin,))
        return (
            origins
            and self._same_values(first.line.inputs, other.line.inputs)
            and self._same_types(first.line.outputs, other.line.outputs)
        )

    def _same_values(self, first: tuple[Value | None, ...], other: tuple[Value | None, ...]) -> bool:
        return len(first) == len(other) and all(
            (self.values.get(a, a) if a is not None else None) is b for a, b in zip(first, other, strict=True)
        )

    def _same_types(self, first: tuple[Value, ...], other: tuple[Value, ...]) -> bool:
        self.values.update(zip(first, other, strict=True))
        return [value.type for value in first] == [value.type for value in other]

    def _same_names(self, first: Step | Call, other: Step | Call) -> bool:
        """Return True for names that are alike but for a number, which grows by the same step in each turn."""
        parts, others = _NUMBER.split(first.name), _NUMBER.split(other.name)
        differing = [index for index, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b]
        if len(parts) != len(others) or len(differing) != 1 or not differing[0] % 2:
            return False
        index = differing[0]
        number, further = int(parts[index]), int(others[index])
        step, rest = divmod(further - number, self.turn)
        if [str(number), str(further)] != [parts[index], others[index]] or rest or step < 1:
            return False
        turn = "turn" if step == 1 else f"{step} * turn"
        parts[index] = f"${{{turn} + {number}}}" if number else f"${{{turn}}}"
        self.steps[id(first)] = "".join(parts)
        return True
