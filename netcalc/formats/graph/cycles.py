"""Calls of different blocks that alternate, as a repeat of a sequence of them."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.formats.graph.items import Call, Cycle, Expression, Item
from netcalc.formats.graph.model import Value

#: Largest number of calls in a cycle.
_LONGEST = 16


def fold_cycles(items: list[Item], used: Mapping[Value, int]) -> list[Item]:
    """Return items with a cycle in place of calls that come again in the same order, each of the output before.

    Args:
        items: the items of a spec, block or sequence, with calls in a row as one.
        used: the number of uses of each value.
    """
    result: list[Item] = []
    index = 0
    while index < len(items):
        cycle, length = _cycle(items[index:], used)
        result.append(items[index] if cycle is None else cycle)
        index += length
    return result


def _cycle(items: list[Item], used: Mapping[Value, int]) -> tuple[Cycle | None, int]:
    """Return the longest cycle with which items begin, and the number of items that it replaces; None and 1 without."""
    calls = [item for item in items if isinstance(item, Call)] if isinstance(items[0], Call) else []
    calls = calls[: next((i for i, item in enumerate(items) if not isinstance(item, Call)), len(items))]
    for size in range(2, min(_LONGEST, len(calls) // 2) + 1):
        length = size
        while length < len(calls) and _continues_cycle(calls, length, size, used):
            length += 1
        times = length // size
        if times > 1:
            repeated = calls[: times * size]
            return Cycle(repeated[:size], times, repeated[size].start - repeated[0].start, repeated), times * size
    return None, 1


def _continues_cycle(calls: list[Call], index: int, size: int, used: Mapping[Value, int]) -> bool:
    """Return True if a call is as the one that stands ``size`` before it, and takes the output of the one before."""
    call, before, alike = calls[index], calls[index - 1], calls[index - size]
    return (
        call.block is alike.block
        and call.stem is not None
        and call.stem == alike.stem
        and max(call.times, 1) == max(alike.times, 1)
        and call.start == before.start + max(before.times, 1)
        and call.start - alike.start == calls[size].start - calls[0].start
        and call.arguments == alike.arguments
        and not any(isinstance(value, Expression) for value in call.arguments.values())
        and not (call.shares or alike.shares)
        and len(call.outputs) == 1
        and call.inputs[:1] == before.outputs
        and call.inputs[1:] == alike.inputs[1:]
        and all(used[value] == 1 for outputs in (*before.earlier, before.outputs) for value in outputs)
    )
