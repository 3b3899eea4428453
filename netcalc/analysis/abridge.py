"""Trees of layers in which the parts that alternating layers have in common are shown once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.analysis.cost import Row
from netcalc.ir import CallNode, OpNode, types_of


def abridge(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return rows in which alternating layers after the first kind have only the children that differ from its own.

    The rows of one repeat alternate if their numbers have a period, such as 0,2,…,24 and 1,3,…,25.  The figures of the
    rows do not change.
    """
    return tuple(_abridged(rows))


def _abridged(rows: Sequence[Row]) -> Iterator[Row]:
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.numbers is None or row.numbers.period == 1 or not row.children:
            yield row._replace(children=abridge(row.children)) if row.children else row
            continue
        key = row.ranges[-1][0], row.op
        if key in first:
            yield _difference(row, first[key])
        else:
            first[key] = row
            yield row._replace(children=abridge(row.children))


def _difference(row: Row, other: Row) -> Row:
    """Return ``row`` with only the children that differ from the children of ``other``."""
    counterparts = {(child.label, child.op): child for child in other.children}
    children: list[Row] = []
    for child in row.children:
        counterpart = counterparts.get((child.label, child.op))
        if counterpart is None:
            children.append(child)
        elif not _show_the_same(child, counterpart):
            children.append(_difference(child, counterpart))
    return row._replace(children=tuple(children))


def _show_the_same(a: Row, b: Row) -> bool:
    """Return True if two rows below different layers show the same, so that one stands for both."""
    if (a.label, a.op, a.repeat) != (b.label, b.op, b.repeat):
        return False
    if (types_of(a.inputs), types_of(a.outputs)) != (types_of(b.inputs), types_of(b.outputs)):
        return False
    if isinstance(a.node, CallNode) and isinstance(b.node, CallNode):
        return a.node.body is b.node.body
    if isinstance(a.node, OpNode) and isinstance(b.node, OpNode):
        return (a.node.op, a.node.params, a.node.ties) == (b.node.op, b.node.params, b.node.ties)
    return (
        a.node is b.node is None
        and len(a.children) == len(b.children)
        and all(_show_the_same(x, y) for x, y in zip(a.children, b.children, strict=True))
    )
