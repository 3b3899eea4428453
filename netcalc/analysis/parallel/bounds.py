"""Lower bounds of the time of a step on the devices of a split: of the layers of a rank, of stages, and of links.

The time of a layer is the longest under the roofs of its rank: multiply-adds, bytes of memory, and bytes that it sends
to the ranks of its tensor, context and expert groups, which may be sent in pieces while it computes.  The time of a
stage is the sum of its layers.  A pipeline takes the passes of its slowest stage one after another, and a pass of all
others once, before the first and behind the last of them; virtual stages divide that.  All that a device sends in a
step, with gradients and weights of replicas, takes its links at least as long as they need for it, beside the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from netcalc.analysis.devices import Device
from netcalc.analysis.folding import folded
from netcalc.analysis.parallel.exchanges import Exchanges, exchanges
from netcalc.analysis.parallel.figures import exchanged_sizes
from netcalc.analysis.parallel.network import NODE_DEVICES, LinkBound, link_bounds, network_roof
from netcalc.analysis.parallel.pieces import RankProgram
from netcalc.analysis.parallel.split import (
    Exchanged,
    Split,
    SplitFigures,
    chunks_of,
    exchanged_in_pass,
    sent_in,
    span_of,
)
from netcalc.analysis.parallel.traffic import Traffic
from netcalc.analysis.parallel.units import Unit, units_of
from netcalc.analysis.roofline import LayerBound, Limit, Roofs, Work, work_of, works_in
from netcalc.analysis.rows import Place
from netcalc.analysis.traffic import EXPERTS, Share, Within
from netcalc.analysis.traffic import Traffic as Efforts
from netcalc.ir import CallNode, Node, OpNode, join


class StepBound(NamedTuple):
    """Least time of a step of a split, in seconds."""

    stage: int
    """The slowest pipeline stage."""
    work: float
    """Time of the layers of this stage, of all micro-batches."""
    fill: float
    """Time in which the stage waits for the others, before its first pass and behind its last one."""
    traffic: tuple[Traffic, ...]
    """Exchanges in a step of the device of the stage whose links take longest."""
    links: tuple[LinkBound, ...]
    """Traffic of this device over its links in a step."""
    flops: int
    """Floating-point operations of the multiply-adds of all devices, 2 each."""

    @property
    def sending(self) -> float | None:
        """Least time of the links; None if the rate of one of them is not published."""
        return network_roof(self.links)

    @property
    def seconds(self) -> float:
        """Least time of the step, as far as it is known."""
        known = [link.seconds for link in self.links if link.seconds is not None]
        return max(self.work + self.fill, *known)


class _Row(NamedTuple):
    """An operation in one layer, with what it exchanges."""

    work: Work
    exchanged: Exchanged


class _UnitTime(NamedTuple):
    """Time of one layer of a unit, or of what lies outside of the layers: of a pass, and of a step."""

    passed: float
    step: float
    flops: int


class RankBounds:
    """Bounds of the splits that have one number of tensor-parallel and of context-parallel ranks.

    Args:
        figures: figures of the rank, with its exchanges.
        rank: the program whose work is counted, each body with one flow of gradients.
        efforts: efforts of the operations of the program, for a share of positions and experts.
        roofs: roofs of one device, where the parameters are divided by so many devices.
        device: the device.
    """

    def __init__(
        self,
        figures: SplitFigures,
        rank: RankProgram,
        efforts: Callable[[Share], Efforts],
        roofs: Callable[[int], Roofs],
        device: Device,
    ) -> None:
        self._figures = figures
        self._rank = rank
        self._units = units_of(rank.program)
        self._efforts = efforts
        self._roofs = roofs
        self._device = device
        self._attached = _Attached(rank)
        self._rows: dict[Hashable, list[_Row]] = {}
        self._times: dict[Hashable, _UnitTime] = {}

    def step(self, split: Split) -> StepBound:
        """Return the bound of a step of a split that divides the network."""
        stages = [self._stage(split, stage) for stage in range(split.pp)]
        slowest = max(range(split.pp), key=lambda stage: (stages[stage].step, -stage))
        others = sum(stage.passed for number, stage in enumerate(stages) if number != slowest)
        traffic, links = self._sent(split)
        each = split.devices // split.pp
        return StepBound(
            slowest,
            stages[slowest].step,
            others / split.virtual_stages,
            traffic,
            links,
            each * sum(stage.flops for stage in stages),
        )

    def layers(self, split: Split, stage: int, unroll: bool = False) -> Iterator[LayerBound]:
        """Yield the operations of a device of a stage that work, move bytes or send some, of all micro-batches."""
        for chunk in chunks_of(self._units, split, stage):
            nodes: list[Node] = []
            origins: dict[int, Unit] = {}
            for unit, times, first in chunk:
                part: Sequence[Node] = unit.nodes
                if times:
                    call = unit.call
                    part = (replace(call, times=times, start=(call.start or 0) + first),)
                origins |= {id(node): unit for node in part}
                nodes += part
            for instances in folded(nodes, unroll=unroll):
                unit = origins[id(instances.node)]
                node = unit.call if unit.times else instances.node
                place = Place().inside(instances) if isinstance(node, CallNode) else Place()
                for row in self._of_node(node, split, unroll=unroll):
                    bound = self._bound(row, split)
                    if bound.flops or bound.read or bound.written or bound.sent:
                        yield _placed(bound, place, instances.times)

    def _stage(self, split: Split, stage: int) -> _UnitTime:
        """Return the time of the layers of a stage."""
        passed = step = 0.0
        flops = 0
        for unit, times, _ in (one for chunk in chunks_of(self._units, split, stage) for one in chunk):
            time = self._unit(unit, split)
            passed += (times or 1) * time.passed
            step += (times or 1) * time.step
            flops += (times or 1) * time.flops
        return _UnitTime(passed, step, flops)

    def _unit(self, unit: Unit, split: Split) -> _UnitTime:
        """Return the time of one layer of a unit, or of all its nodes outside of the layers."""
        nodes = (unit.call,) if unit.times else unit.nodes
        key = tuple(self._key(node, split) for node in nodes), split
        if key not in self._times:
            rows = [row for node in nodes for row in self._of_node(node, split, unroll=False)]
            step = [self._bound(row, split) for row in rows]
            once = split._replace(micro_batches=1)
            self._times[key] = _UnitTime(
                sum(self._bound(row, once, updates=0).seconds for row in rows),
                sum(bound.seconds for bound in step),
                sum(bound.flops for bound in step),
            )
        return self._times[key]

    def _within(self, node: Node, split: Split) -> Within:
        """Return what the body of a call, or the main body around an operation, is within."""
        main = self._rank.program.main
        outside = Within((True,) * len(main.inputs))
        if isinstance(node, CallNode):
            return self._efforts(Share(split.cp, split.ep)).inside(main, outside, node)
        return outside

    def _key(self, node: Node, split: Split) -> Hashable:
        """Return what the work of a node depends on, beside the split: layers may share a body."""
        return (id(node.body), self._within(node, split)) if isinstance(node, CallNode) else id(node)

    def _of_node(self, node: Node, split: Split, *, unroll: bool) -> list[_Row]:
        """Return the operations of a node of the main body; of a call those of one iteration."""
        share, parts = Share(split.cp, split.ep), split.pp * split.ep
        key = self._key(node, split), share, parts, unroll
        if key not in self._rows:
            efforts, roofs, within = self._efforts(share), self._roofs(parts), self._within(node, split)
            if isinstance(node, CallNode):
                found = list(works_in(node.body, within, efforts, Place(), 1, roofs, unroll=unroll))
            else:
                body = self._rank.program.main
                found = [(work_of(body, within, efforts, Place(), 1, roofs, node), node)]
            self._rows[key] = [_Row(work, self._attached.of(op)) for work, op in found]
        return self._rows[key]

    def _bound(self, row: _Row, split: Split, updates: int = 1) -> LayerBound:
        """Return the bound of an operation, with what it sends."""
        sharing = 1
        if split.zero:
            sharing = split.replicas // (split.ep if row.work.op == EXPERTS else 1)
        bound = row.work.bound(split.micro_batches, updates, sharing)
        sent = self._links(row.exchanged, split)
        if not any(sent.values()):
            return bound
        times = row.work.repeat * split.micro_batches
        rates = {"node": self._device.node_link, "network": self._device.network_link}
        seconds = [size / rate for link, size in sent.items() if size and (rate := rates[link]) is not None]
        roofs: dict[Limit, float] = {**bound.roofs}
        if seconds:
            roofs["network"] = times * max(seconds)
        whole = sum(sent.values()) * times
        longest = max(roofs.values(), default=0.0)
        return bound._replace(roofs=roofs, seconds=longest, sent=whole, sent_away=sent["network"] * times)

    def _links(self, exchanged: Exchanged, split: Split) -> dict[str, int]:
        """Return the bytes that an operation sends in a pass, by link."""
        sent = {"node": 0, "network": 0}
        for group, exchange, times in exchanged_in_pass(exchanged, split, self._figures.training):
            if exchange.ranks > 1:
                link = "node" if span_of(group, split) <= NODE_DEVICES else "network"
                sent[link] += sent_in(exchange, times)
        return sent

    def _sent(self, split: Split) -> tuple[tuple[Traffic, ...], tuple[LinkBound, ...]]:
        """Return what the stage whose links take longest exchanges."""
        seen: dict[Hashable, tuple[tuple[Traffic, ...], tuple[LinkBound, ...]]] = {}
        for stage in range(split.pp):
            chunks = chunks_of(self._figures.units, split, stage)
            layers = tuple(tuple((id(unit), times) for unit, times, _ in chunk) for chunk in chunks)
            key = layers, stage == 0, stage == split.pp - 1
            if key not in seen:
                traffic = tuple(self._figures.traffic(split, stage))
                seen[key] = traffic, link_bounds(traffic, self._device, NODE_DEVICES)
        return max(seen.values(), key=lambda found: (_known(found[1]), sum(link.sent for link in found[1])))


def _known(links: Iterable[LinkBound]) -> float:
    return max((link.seconds for link in links if link.seconds is not None), default=0.0)


def _placed(bound: LayerBound, place: Place, times: int) -> LayerBound:
    """Return the bound of so many instances at a place."""
    return bound._replace(
        path=join(place.path, bound.path),
        title=join(place.title, bound.title),
        repeat=bound.repeat * times,
        flops=bound.flops * times,
        read=bound.read * times,
        written=bound.written * times,
        seconds=bound.seconds * times,
        roofs={roof: seconds * times for roof, seconds in bound.roofs.items()},
        sent=bound.sent * times,
        sent_away=bound.sent_away * times,
        timed=bound.timed * times,
        cached=bound.cached * times,
    )


class _Attached:
    """Exchanges of operations, by their identity.

    A sum of partial results is that of the operation before it, and what is gathered or copied for an operation is
    that of the operation behind it, as both can go on in pieces beside it.
    """

    def __init__(self, rank: RankProgram) -> None:
        self._rank = rank
        self._found: dict[int, Exchanges] = {}
        self._seen: set[int] = set()
        for unit in units_of(rank.program):
            self._attach(unit.nodes)

    def of(self, node: OpNode) -> Exchanged:
        """Return what an operation exchanges."""
        keys, routed, _ = exchanged_sizes((node,))
        return Exchanged(self._found.get(id(node), Counter()), keys, routed)

    def _attach(self, nodes: Sequence[Node]) -> None:
        waiting: list[OpNode] = []
        before: OpNode | None = None
        for node in nodes:
            if isinstance(node, CallNode):
                if id(node.body) not in self._seen:
                    self._seen.add(id(node.body))
                    self._attach(node.body.nodes)
                before = None
                continue
            move = self._rank.move(node)
            if move is None:
                if not node.op.view:
                    for one in waiting:
                        self._add(node, one)
                    waiting, before = [], node
            elif move.kind in ("reduce", "reduce_scatter"):
                self._add(before or node, node)
            else:
                waiting.append(node)
        for one in waiting:
            self._add(before or one, one)

    def _add(self, node: OpNode, exchange: OpNode) -> None:
        self._found.setdefault(id(node), Counter()).update(exchanges(self._rank, (exchange,)))
