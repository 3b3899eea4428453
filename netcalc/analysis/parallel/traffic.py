"""Data that a device of a split exchanges in a step: bytes and calls by the ranks that take part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.parallel.exchanges import Collective, Exchange
from netcalc.results import recorded

#: Ranks that exchange data: of tensor, context, expert, data and pipeline parallelism.
Group: TypeAlias = Literal["tensor", "context", "expert", "data", "pipeline"]


class Calls(NamedTuple):
    """Exchanges of equal layers, or of something else, in a step."""

    of: str
    """Path of the first layer, or what else is exchanged."""
    when: str
    """Passes in which it is."""
    each: int
    """Number in a layer, for a micro-batch."""
    layers: int = 1
    passes: int = 1
    """Number of micro-batches."""

    @property
    def number(self) -> int:
        """Number of all exchanges."""
        return self.each * self.layers * self.passes


@recorded("group", "collective", "ranks", "calls", "size", "sent", "span")
class Traffic(NamedTuple):
    """Data that a device exchanges in a step."""

    group: Group
    collective: Collective
    ranks: int
    calls: int
    size: int
    """Bytes of all tensors that are exchanged, whole."""
    sent: int
    """Bytes that the device sends, by a ring or pairwise."""
    span: int
    """Devices in a row among which the ranks lie, with tensor-parallel ranks next to each other, then context-parallel
    ones, replicas and stages: within a node, if it has as many."""
    counted: tuple[Calls, ...] = ()
    """Calls by what is exchanged."""


def sent_by_link(traffic: Iterable[Traffic], node: int) -> dict[Literal["node", "network"], int]:
    """Return the bytes that a device sends within a node of so many devices, and to other nodes.

    >>> one = Traffic("tensor", "all-reduce", 8, 2, 100, 175, 8)
    >>> sent_by_link([one], 8), sent_by_link([one], 4)
    ({'node': 175, 'network': 0}, {'node': 0, 'network': 175})
    """
    sent: dict[Literal["node", "network"], int] = {"node": 0, "network": 0}
    for one in traffic:
        sent["node" if one.span <= node else "network"] += one.sent
    return sent


def summed(group: Group, found: Iterable[tuple[Exchange, Calls]], span: int) -> Iterator[Traffic]:
    """Yield the exchanges of a group by collective and number of ranks."""
    by_kind: dict[tuple[Collective, int], list[tuple[Exchange, Calls]]] = {}
    for exchange, calls in found:
        by_kind.setdefault((exchange.collective, exchange.ranks), []).append((exchange, calls))
    for (collective, ranks), alike in by_kind.items():
        size = sum(one.size * calls.number for one, calls in alike)
        sent = sum(one.all_sent * calls.number for one, calls in alike)
        # a stage of a pipeline sends the whole tensor, and the ranks of a ring their shares
        own = size if collective == "point-to-point" and group == "pipeline" else -(-sent // ranks)
        each: dict[Calls, int] = {}
        for _, calls in alike:
            kind = calls._replace(each=1)
            each[kind] = each.get(kind, 0) + calls.each
        counted = tuple(kind._replace(each=number) for kind, number in each.items())
        yield Traffic(group, collective, ranks, sum(calls.number for calls in counted), size, own, span, counted)
