"""Values that items of the tree take and make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from netcalc.formats.graph.items import Call, Cycle, Item, Sequence, Turns
from netcalc.formats.graph.model import Value


def taken_by(item: Item) -> Iterator[Value]:
    """Yield the values that an item takes, once for each use, those that it makes itself included."""
    if isinstance(item, Sequence):
        for inner in item.items:
            yield from taken_by(inner)
    elif isinstance(item, Call):
        yield from item.inputs
    elif isinstance(item, (Cycle, Turns)):
        for inner in item.whole:
            yield from taken_by(inner)
    elif item.branches:
        for branch in item.branches.values():
            for inner in branch:
                yield from taken_by(inner)
        yield from (value for value in item.line.inputs if value is not None)
    else:
        yield from (value for value in item.line.inputs if value is not None)


def made_by(item: Item) -> Iterator[Value]:
    """Yield the values that an item makes, in order."""
    if isinstance(item, Sequence):
        for inner in item.items:
            yield from made_by(inner)
    elif isinstance(item, Call):
        for outputs in item.earlier:
            yield from outputs
        yield from item.outputs
    elif isinstance(item, (Cycle, Turns)):
        for inner in item.whole:
            yield from made_by(inner)
    else:
        for branch in item.branches.values():
            for inner in branch:
                yield from made_by(inner)
        yield from item.line.outputs


def use_counts(items: Iterable[Item], outputs: Iterable[Value] = ()) -> Counter[Value]:
    """Return the number of uses of each value by items, and as an output."""
    counts = Counter(outputs)
    for item in items:
        counts.update(taken_by(item))
    return counts
