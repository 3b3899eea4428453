"""Layers that differ in turn, such as those with and without a window, as a repeat of one period of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from netcalc.ir import Body, CallNode, Node, Program, Value

#: Longest period that is looked for.
_LONGEST = 12
#: Name of the repeat of a period, which no path shows.
_NAME = "cycle"


class Cycles(NamedTuple):
    """A program in which periods of calls are repeats, and the calls of each by the id of the repeat."""

    program: Program
    calls: dict[int, tuple[CallNode, ...]]


def with_cycles(program: Program, least: int, kept: Collection[int]) -> Cycles:
    """Return a program in which periods of calls that come at least so often are repeats; not of calls in ``kept``."""
    calls: dict[int, tuple[CallNode, ...]] = {}
    main = _folded(program.main, least, kept, calls)
    return Cycles(program if main is program.main else replace(program, main=main), calls)


def _folded(body: Body, least: int, kept: Collection[int], calls: dict[int, tuple[CallNode, ...]]) -> Body:
    """Return a body with repeats of periods; the calls of each are added to ``calls``."""
    uses = Counter(id(value) for node in body.nodes for value in node.inputs if value is not None)
    uses.update(id(value) for node in body.nodes for value in node.holds)
    uses.update(id(value) for value in body.outputs)
    nodes: list[Node] = []
    position = 0
    while position < len(body.nodes):
        period, times = _period(body.nodes, position, kept, uses)
        if times >= least:
            run = [node for node in body.nodes[position : position + period * times] if isinstance(node, CallNode)]
            nodes.append(_repeat(run, period, times))
            calls[id(nodes[-1])] = tuple(run)
            position += period * times
            continue
        nodes.append(body.nodes[position])
        position += 1
    return replace(body, nodes=tuple(nodes)) if len(nodes) < len(body.nodes) else body


def _period(nodes: Sequence[Node], first: int, kept: Collection[int], uses: Counter[int]) -> tuple[int, int]:
    """Return the period of the calls from a position on and how often it comes; 0 and 0 if there is none."""
    best = 0, 0
    for period in range(2, _LONGEST + 1):
        length = 0
        while _fits(nodes, first, first + length, period, kept, uses):
            length += 1
        times = length // period
        if times > 1 and period * times > best[0] * best[1]:
            best = period, times
    return best


def _fits(
    nodes: Sequence[Node], first: int, position: int, period: int, kept: Collection[int], uses: Counter[int]
) -> bool:
    """Return True for a call that goes on from the one before, as that of the period before does."""
    node = nodes[position] if position < len(nodes) else None
    if not isinstance(node, CallNode) or id(node) in kept or node.shares is not None:
        return False
    if position > first:
        before = nodes[position - 1]
        assert isinstance(before, CallNode)
        passed = node.inputs[: len(before.outputs)]
        alone = all(uses[id(value)] == 1 for value in before.outputs)
        if not alone or passed != before.outputs:
            return False
    if position < first + period:
        return True
    like = nodes[position - period]
    assert isinstance(like, CallNode)
    carried = len(nodes[position - 1].outputs)
    same = node.body is like.body and node.times == like.times and (node.start is None) == (like.start is None)
    return same and all(a is b for a, b in zip(node.inputs[carried:], like.inputs[carried:], strict=True))


def _repeat(run: Sequence[CallNode], period: int, times: int) -> CallNode:
    """Return the repeat of the first calls of a run."""
    carried = len(run[period - 1].outputs)
    outer = list(run[0].inputs[:carried])
    values: dict[Value | None, Value | None] = {None: None}
    inputs = [None if value is None else Value(value.type, value.name, value.span) for value in outer]
    values.update(zip(outer, inputs, strict=True))
    made: set[Value] = set()
    nodes: list[Node] = []
    for number, call in enumerate(run[:period]):
        fixed = call.inputs[carried:] if number == 0 else call.inputs[len(run[number - 1].outputs) :]
        for value in fixed:
            if value is not None and value not in values and value not in made:
                values[value] = Value(value.type, value.name, value.span)
                outer.append(value)
                inputs.append(values[value])
        nodes.append(replace(call, inputs=tuple(v if v in made else values[v] for v in call.inputs), holds=()))
        made.update(call.outputs)
    body = Body(_NAME, tuple(inputs), tuple(nodes), run[period - 1].outputs)
    holds = tuple(dict.fromkeys(value for call in run for value in call.holds))
    return CallNode(_NAME, body, tuple(outer), run[-1].outputs, times, 0, holds=holds)
