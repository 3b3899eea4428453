"""Calls of one block in a row as a repeat, and sequences of a single item as this item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise, takewhile
from typing import Any

from netcalc.dims import Poly
from netcalc.formats.graph.cycles import fold_cycles
from netcalc.formats.graph.items import Call, Cycle, Expression, Item, Sequence, Step
from netcalc.formats.graph.model import Value
from netcalc.formats.repetition import literal, shortened
from netcalc.limits import MAX_EXPRESSION

#: Ends of the name of a repeat after which the numbers of its iterations follow without a dot.
_NO_DOT = ("_", "-")


def fold_repeats(items: list[Item], used: Mapping[Value, int]) -> list[Item]:
    """Return items with a repeat in place of calls in a row, where each takes the output of the one before.

    Args:
        items: the items of a spec, block or sequence.
        used: the number of uses of each value.
    """
    unwrapped: list[Item] = []
    for item in items:
        if isinstance(item, Sequence):
            item.items = fold_repeats(item.items, used)
            unwrapped += _unwrapped(item)
        else:
            unwrapped.append(item)
    result: list[Item] = []
    run: list[Call] = []
    for item in unwrapped:
        if run and not (isinstance(item, Call) and _continues(run, item, used) and _can_be_written([*run, item])):
            result.append(_repeated(run))
            run = []
        if isinstance(item, Call) and not item.times:
            run.append(item)
        else:
            result.append(item)
    return _distinct(fold_cycles([*result, _repeated(run)] if run else result, used))


def _distinct(items: list[Item]) -> list[Item]:
    """Return items where of several repeats with one name only the first has it; the others name each iteration."""
    taken: set[str] = set()
    for item in items:
        if isinstance(item, Call) and item.times and item.stem is not None:
            if item.name in taken:
                item.name = f"{item.stem}${{index}}"
            taken.add(item.name)
    return items


def _unwrapped(sequence: Sequence) -> list[Item]:
    """Return a sequence, or its items under its name if all are calls or it has only one item."""
    alone = len(sequence.items) == 1 and bool(sequence.items[0].name)
    if not alone and not all(isinstance(item, (Call, Cycle)) for item in sequence.items):
        return [sequence]
    for item in sequence.items:
        for call in item.whole if isinstance(item, Cycle) else [item]:
            if sequence.module and isinstance(call, (Step, Sequence, Call)):
                call.module = sequence.module + (call.module or call.place).removeprefix(sequence.place)
            numbers = isinstance(call, Call) and call.name == "${index}" and not sequence.name.endswith(_NO_DOT)
            call.name = f"{sequence.name}.{call.name}" if call.name and not numbers else sequence.name
            if isinstance(call, Call) and call.stem is not None:
                call.stem = f"{sequence.name}.{call.stem}"
    return sequence.items


def split_number(name: str) -> tuple[str, int | None]:
    """Return a name without the number at its end, and the number: ``layers.3``, ``layer3``, or ``3``."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return (stem, int(digits)) if digits and str(int(digits)) == digits else (name, None)


def _continues(run: list[Call], call: Call, used: Mapping[Value, int]) -> bool:
    """Return True if a call goes on where a run of calls ends."""
    last = run[-1]
    if call.block is not last.block or not call.outputs or not call.inputs:
        return False
    passed = _passed(last, call)
    if not passed or call.inputs[passed:] != last.inputs[passed:] or _is_passed_otherwise(run, call, passed):
        return False
    if (
        any(map(_has_no_literal, (*call.arguments.values(), *last.arguments.values())))
        and call.arguments != last.arguments
    ):
        return False
    if (call.shares or last.shares) and passed < len(last.outputs):
        return False
    if call.shares or last.shares:
        private = all(used[value] == call.inputs.count(value) for value in last.outputs)  # without a path of its own
        return private and call.shares.removeprefix("/") == run[0].place and call.arguments == last.arguments
    (stem, number), (other, before) = split_number(call.name), split_number(last.name)
    return number is not None and before is not None and stem == other and number == before + 1


def _can_be_written(run: list[Call]) -> bool:
    """Return True if no argument of a run is longer, as an expression of the iteration, than expressions may be."""
    _, start = split_number(run[0].name)
    for name, default in run[0].block.arguments.items():
        values = [call.arguments.get(name, default) for call in run]
        differs = values.count(values[0]) < len(values)
        if differs and len(_literal(values)) > MAX_EXPRESSION < len(_indexed_list(values, start or 0).text):
            return False
    return True


def _passed(call: Call, after: Call) -> int:
    """Return the number of the first outputs of a call that are the first inputs of the one after it."""
    pairs = zip(call.outputs, after.inputs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))


def _is_passed_otherwise(run: list[Call], call: Call, passed: int) -> bool:
    """Return True if a call takes more of the one before than its first outputs, or than the calls before it take."""
    if any(value in call.inputs for value in run[-1].outputs[passed:]):
        return True
    return len(run) > 1 and _passed(run[-2], run[-1]) != passed


def _repeated(run: list[Call]) -> Call:
    """Return a run of calls as one call."""
    first, last = run[0], run[-1]
    stem, start = (first.name, None) if last.shares else split_number(first.name)
    first.stem, first.start = None if start is None else stem, start or 0
    if len(run) == 1:
        return first
    base = stem.removesuffix(".")
    fixed = last.shares or base.endswith(_NO_DOT) != stem.endswith(".")  # each number follows as it does in the stem
    name = base if fixed else f"{stem}${{index}}"
    repeated = Call(name, first.block, first.inputs, last.outputs, {}, first.place, last.shares, first.module)
    repeated.times, repeated.stem, repeated.start = len(run), first.stem, first.start
    repeated.passed = _passed(run[-2], last)
    repeated.earlier = [call.outputs for call in run[:-1]]
    for name in first.block.arguments:
        values = [call.arguments.get(name, first.block.arguments[name]) for call in run]
        if not all(value == values[0] for value in values):
            repeated.arguments[name] = _indexed_list(values, repeated.start)
        elif name in first.arguments:
            repeated.arguments[name] = values[0]
    return repeated


def _indexed_list(values: list[Any], start: int) -> Expression:
    """Return an expression of the number of the iteration with the values of an argument."""
    index = "index" if start == 0 else f"index - {start}"
    first, rest = values[0], values[1:]
    if all(value == rest[0] for value in rest):
        return Expression(f"{_literal(first)} if index == {start} else {_literal(rest[0])}")
    if (text := _by_index(values, start)) is not None:
        return Expression(text)
    if any(isinstance(value, (Expression, Poly)) for value in values):
        return Expression(f"{_literal(values)}[{index}]")
    listed = shortened(values)
    text = listed.removeprefix("${").removesuffix("}") if isinstance(listed, str) else _literal(listed)
    return Expression(f"({text})[{index}]" if isinstance(listed, str) else f"{text}[{index}]")


def _by_index(values: list[Any], start: int) -> str | None:
    """Return values as an expression of the number of the iteration, in which whole numbers grow by equal steps."""
    first = values[0]
    if all(type(value) is type(first) and value == first for value in values):
        return None if _has_no_literal(first) else _literal(first)
    if all(type(value) is int for value in values):
        step = values[1] - first
        if any(after - before != step for before, after in pairwise(values)):
            return None
        return _linear(step, first - step * start)
    if all(isinstance(value, (list, tuple)) and len(value) == len(first) for value in values):
        parts = [_by_index(list(column), start) for column in zip(*values, strict=True)]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"
    return None


def _linear(step: int, offset: int) -> str:
    """Return a multiple of the number of the iteration, and a number, as an expression."""
    multiple = {1: "index", -1: "-index"}.get(step, f"{step} * index")
    return multiple if not offset else f"{multiple} {'+' if offset > 0 else '-'} {abs(offset)}"


def _has_no_literal(value: Any) -> bool:
    """Return True for a value that no expression can write: a mapping, inf or nan, or a list with one."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_no_literal, value))
    return isinstance(value, dict) or (isinstance(value, float) and not math.isfinite(value))


def _literal(value: Any) -> str:
    """Return a value as expressions write it."""
    if isinstance(value, Expression):
        return f"({value.text})"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return str(value) if isinstance(value, Poly) else literal(value)
