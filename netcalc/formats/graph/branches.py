"""Branches: chains of items that start from one value and are joined by an operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from netcalc.formats.graph.items import Call, Cycle, Item, Sequence, Step, Turns
from netcalc.formats.graph.model import Value, operation_named
from netcalc.formats.graph.uses import made_by, taken_by

#: Most levels of branches in branches; a long sum whose terms all start from one value would be as deep as it is long.
_DEEPEST = 4


def fold_branches(items: list[Item], used: Counter[Value]) -> list[Item]:
    """Return items with the chains that an operation joins as its branches.

    Args:
        items: the items of a spec, block or sequence.
        used: the number of uses of each value in the whole spec or block.
    """
    result: list[Item] = []
    for item in items:
        if isinstance(item, Sequence):
            item.items = fold_branches(item.items, used)
        elif isinstance(item, Step) and len(item.line.inputs) > 1 and None not in item.line.inputs:
            _fold(item, result, used)
        result.append(item)
    return result


def _fold(join: Step, before: list[Item], used: Counter[Value]) -> None:
    """Move the chains that make the inputs of an operation from the items before it to its branches."""
    inputs = [value for value in join.line.inputs if value is not None]
    wanted = set(inputs)
    chains: dict[Value, list[Item]] = {}
    stop = len(before)
    while stop and (start := _chain_start(before, stop, wanted - chains.keys(), used)) < stop:
        chains[_result(before[stop - 1])] = before[start:stop]
        stop = start
    if not chains or len(inputs) != len(wanted) or max(map(_depth, chains.values())) == _DEEPEST:
        return
    in_order = [value for value in inputs if value in chains] == [*reversed(chains)]
    if not in_order and any(_is_tied(item) for chain in chains.values() for item in chain):
        return  # the line with the parameter has to stay before the one that is tied to it
    rest = [value for value in inputs if value not in chains]
    origin = _origin(list(chains.values()), rest)
    if origin is None or len(set(rest)) > 1:
        return
    del before[stop:]
    join.branches = dict(zip(_labels(join, inputs, chains), (chains.get(v, []) for v in inputs), strict=True))
    join.origin = origin


def _depth(items: Iterable[Item]) -> int:
    """Return the number of levels of branches in items."""
    return max(map(_levels, items), default=0)


def _levels(item: Item) -> int:
    if isinstance(item, Sequence):
        return _depth(item.items)
    if isinstance(item, Step) and item.branches:
        return 1 + max(map(_depth, item.branches.values()))
    return 0


def _is_tied(item: Item) -> bool:
    """Return True if an item uses parameters of another one."""
    if isinstance(item, Sequence):
        return any(map(_is_tied, item.items))
    if isinstance(item, (Cycle, Turns)):
        return any(map(_is_tied, item.whole))
    if isinstance(item, Call):
        return bool(item.shares)
    return bool(item.ties) or any(_is_tied(inner) for branch in item.branches.values() for inner in branch)


def _result(item: Item) -> Value:
    """Return the value of the line after which the next one follows."""
    if isinstance(item, Call):
        return item.outputs[0]
    return list(made_by(item))[-1] if not isinstance(item, Step) else item.line.outputs[0]


def _chain_start(before: list[Item], stop: int, wanted: set[Value], used: Counter[Value]) -> int:
    """Return the index of the first item of a chain that ends at ``stop`` with a wanted value, or ``stop``."""
    last = before[stop - 1]
    made = list(made_by(last))
    if not made or _result(last) not in wanted or used[_result(last)] != 1:
        return stop
    start, within = stop, Counter[Value]()
    while start:
        item = before[start - 1]
        made = list(made_by(item))
        if start < stop and (not made or _result(item) not in set(taken_by(before[start]))):
            break
        within.update(taken_by(item))
        # nothing outside uses the values of the chain, except its result; no item uses those of a later one
        if any(used[value] != within[value] for value in made if value is not _result(last)):
            break
        start -= 1
    return start


def _origin(chains: list[list[Item]], rest: list[Value]) -> Value | None:
    """Return the value from which all chains start; None if there is no such value."""
    starts = []
    for chain in chains:
        made = {value for item in chain for value in made_by(item)}
        starts.append([value for value in taken_by(chain[0]) if value not in made])
    if rest:
        return rest[0] if all(rest[0] in start for start in starts) else None
    if len(chains) < 2:
        return None
    return next((value for value in starts[0] if all(value in start for start in starts)), None)


def _labels(join: Step, inputs: list[Value], chains: dict[Value, list[Item]]) -> list[str]:
    """Return names for the branches: the ports of the operation, or the parts of a residual connection."""
    declared = operation_named(join.line.operation)
    if len(declared.inputs) >= len(inputs) and not declared.inputs[0].variadic:
        return [port.name for port in declared.inputs[: len(inputs)]]
    if len(inputs) == 2 and join.line.operation == "add" and len(chains) == 1:
        return ["residual" if value in chains else "shortcut" for value in inputs]
    return [f"branch{index + 1}" for index in range(len(inputs))]
