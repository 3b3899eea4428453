"""Lower bounds of the time of a program on devices, by layer: the highest of the roofs of arithmetic and memory.

The roof of arithmetic is the time of the multiply-adds at the peak of their element type; other work may run beside
them, and is left out.  The roof of memory is the time of the bytes at the bandwidth.  A tensor that the last cache can
hold may stay there from one operation to the next.  Where the bandwidth of the cache is known, these bytes have a roof
of their own, and parameters and inputs may be there too if it can hold all of them, as in passes that follow one
another; elsewhere they are read from memory.  Several devices share all of it evenly, without a byte between them.

Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model for multicore architectures".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.devices import Device, Devices
from netcalc.analysis.folding import folded
from netcalc.analysis.rows import Place
from netcalc.analysis.traffic import NO_EFFORT, Effort, Traffic, Within
from netcalc.ir import Body, OpNode, Program, join
from netcalc.results import recorded

#: Floating-point operations of a multiply-add.
FLOPS_PER_MAC = 2

#: Limit of a layer: arithmetic, bytes of memory or of the last cache, or bytes that are sent to other devices.
Limit: TypeAlias = Literal["compute", "memory", "cache", "network"]


@recorded(
    "path",
    "title",
    "op",
    "repeat",
    "flops",
    "read",
    "written",
    "sent",
    "intensity",
    "seconds",
    "rate",
    "limit",
    "roofs",
)
class LayerBound(NamedTuple):
    """Work, traffic and least time of a layer, of all its instances together."""

    path: str
    """Path of the first instance."""
    title: str
    """Path with the numbers of all instances."""
    op: str
    """Name of the operation, or `sequence` for several."""
    repeat: int
    """Number of instances."""
    flops: int
    """Floating-point operations of the multiply-adds, 2 each."""
    read: int
    """Bytes that are read."""
    written: int
    """Bytes that are written."""
    seconds: float
    """Lower bound of the time in seconds."""
    roofs: Mapping[Limit, float]
    """Seconds under each roof on its own."""
    sent: int = 0
    """Bytes that the device of a split sends to others."""
    sent_away: int = 0
    """Part of these bytes that goes to other nodes."""
    timed: int = 0
    """Floating-point operations that the roof of arithmetic counts: those of the fastest algorithm."""
    cached: int = 0
    """Bytes that the last cache can hold, which the roof of memory leaves out."""
    peaks: tuple[str, ...] = ()
    """Element types whose peaks count."""

    @property
    def intensity(self) -> float | None:
        """FLOPs for a byte; null without any byte."""
        moved = self.read + self.written
        return self.flops / moved if moved else None

    @property
    def rate(self) -> float | None:
        """FLOP/s at the bound; null for a layer that takes no time."""
        return self.flops / self.seconds if self.seconds else None

    @property
    def limit(self) -> Limit | None:
        """Roof that most of the time is under; null for a layer that takes none."""
        longest = max(self.roofs, key=lambda roof: self.roofs[roof], default=None)
        return longest if longest is not None and self.roofs[longest] > 0 else None


class Part(NamedTuple):
    """Work, traffic and seconds under each roof of an operation, once."""

    flops: int
    read: int
    written: int
    roofs: Mapping[Limit, float]
    timed: int
    cached: int
    peaks: tuple[str, ...]


class Work(NamedTuple):
    """An operation in a pass, and in the update of its parameters."""

    title: str
    path: str
    repeat: int
    op: str
    passed: Part
    update: Part

    def bound(self, passes: int = 1, updates: int = 1, sharing: int = 1) -> LayerBound:
        """Return the bound of so many passes and updates, the latter shared by so many replicas."""
        repeat, (one, last) = self.repeat, (self.passed, self.update)

        def summed(each: int, ending: int) -> int:
            return (passes * each + updates * -(-ending // sharing)) * repeat

        roofs = {
            roof: (passes * seconds + updates * last.roofs[roof] / sharing) * repeat
            for roof, seconds in one.roofs.items()
        }
        return LayerBound(
            self.path,
            self.title,
            self.op,
            repeat,
            summed(one.flops, last.flops),
            summed(one.read, last.read),
            summed(one.written, last.written),
            max(roofs.values(), default=0.0),
            roofs,
            timed=summed(one.timed, last.timed),
            cached=summed(one.cached, last.cached),
            peaks=tuple(dict.fromkeys((*one.peaks, *last.peaks))),
        )


class Roofs:
    """Roofs of devices for the passes of a program.

    Args:
        devices: the devices.
        outside: bytes that lie outside the pass: all parameters and inputs.
        dtype: element type of the network, whose peak counts for types that have none.
        arithmetic: name of the peak of all products; None for that of each element type.
    """

    def __init__(self, devices: Devices, outside: int, dtype: str, arithmetic: str | None = None) -> None:
        self._device, self._number = devices
        cache = self._device.cache if self._device.cache_bandwidth is not None else None
        self._all_is_cached = cache is not None and outside <= cache
        self._default = arithmetic or dtype
        self._arithmetic = arithmetic

    @property
    def device(self) -> Device:
        """The device."""
        return self._device

    @property
    def dtype(self) -> str:
        """Element type of the peak by which the MFU is stated."""
        return self._default

    @property
    def peak(self) -> int | None:
        """FLOP/s of all devices together in the type of the network; None if it is not known."""
        peak = self._device.peaks.get(self._default)
        return None if peak is None else peak * self._number

    def of(self, effort: Effort) -> dict[Limit, float]:
        """Return the seconds of an effort under each roof that is known."""
        device, seconds = self._device, dict[Limit, float]()
        if device.peaks.get(self._default) is not None:
            seconds["compute"] = sum(self._product_seconds(*work) for work in effort.least.items()) / self._number
        cached = self._cached(effort)
        if device.bandwidth is not None:
            seconds["memory"] = (effort.read + effort.written - cached) / (device.bandwidth * self._number)
        if device.cache_bandwidth is not None:
            seconds["cache"] = cached / (device.cache_bandwidth * self._number)
        return seconds

    def part(self, effort: Effort) -> Part:
        """Return an effort with its seconds."""
        if effort is NO_EFFORT:
            return self._nothing
        flops = FLOPS_PER_MAC * sum(effort.macs.values())
        timed = FLOPS_PER_MAC * sum(effort.least.values())
        peaks = tuple(self._peak_type(dtype) for dtype in effort.least) if self.peak is not None else ()
        return Part(flops, effort.read, effort.written, self.of(effort), timed, self._cached(effort), peaks)

    @cached_property
    def _nothing(self) -> Part:
        return Part(0, 0, 0, self.of(NO_EFFORT), 0, 0, ())

    def _cached(self, effort: Effort) -> int:
        return sum(moved.bytes for moved in effort.transfers if self._is_cached(moved.bytes, moved.outside))

    def _peak_type(self, dtype: str) -> str:
        """Return the element type whose peak counts for products in another one."""
        return dtype if self._arithmetic is None and dtype in self._device.peaks else self._default

    def _product_seconds(self, dtype: str, macs: int) -> float:
        return FLOPS_PER_MAC * macs / self._device.peaks[self._peak_type(dtype)]

    def _is_cached(self, size: int, outside: bool) -> bool:
        """Return True for a tensor that the last cache can hold."""
        if outside:
            return self._all_is_cached
        return self._device.cache is not None and size <= self._device.cache


def layer_bounds(
    program: Program, traffic: Traffic, roofs: Roofs, unroll: bool = False, passes: int = 1
) -> Iterator[LayerBound]:
    """Yield the operations of a program that work or move bytes, in order of execution.

    They are those of so many passes, and of one update where it is counted.
    """
    outside = Within((True,) * len(program.main.inputs))
    for work, _ in works_in(program.main, outside, traffic, Place(), 1, roofs, unroll=unroll):
        bound = work.bound(passes)
        if bound.flops or bound.read or bound.written:
            yield bound


def works_in(
    body: Body, within: Within, traffic: Traffic, place: Place, repeat: int, roofs: Roofs, *, unroll: bool = False
) -> Iterator[tuple[Work, OpNode]]:
    """Yield the operations of a body in order of execution, with their work under roofs."""
    for instances in folded(body.nodes, unroll=unroll):
        node = instances.node
        if isinstance(node, OpNode):
            yield work_of(body, within, traffic, place, repeat, roofs, node), node
        else:
            inner = traffic.inside(body, within, node)
            times = repeat * instances.times
            yield from works_in(node.body, inner, traffic, place.inside(instances), times, roofs, unroll=unroll)


def work_of(
    body: Body, within: Within, traffic: Traffic, place: Place, repeat: int, roofs: Roofs, node: OpNode
) -> Work:
    """Return the work of an operation of a body under roofs."""
    title, path = join(place.title, node.name), join(place.path, node.name)
    passed, update = traffic.efforts(body, within, node)
    return Work(title, path, repeat, node.op.name, roofs.part(passed), roofs.part(update))


def joined(layers: Iterable[LayerBound], depth: int) -> Iterator[LayerBound]:
    """Yield layers with paths of at most ``depth`` parts, those below them summed."""
    groups: dict[str, list[LayerBound]] = {}
    for layer in layers:
        groups.setdefault(_cut(layer.title, depth), []).append(layer)
    for title, members in groups.items():
        yield members[0] if len(members) == 1 and members[0].title == title else _sum(title, depth, members)


def _sum(title: str, depth: int, members: list[LayerBound]) -> LayerBound:
    first = members[0]
    return LayerBound(
        _cut(first.path, depth),
        title,
        "sequence",
        min(layer.repeat for layer in members),
        sum(layer.flops for layer in members),
        sum(layer.read for layer in members),
        sum(layer.written for layer in members),
        sum(layer.seconds for layer in members),
        total_roofs(members),
        sum(layer.sent for layer in members),
        sum(layer.sent_away for layer in members),
        sum(layer.timed for layer in members),
        sum(layer.cached for layer in members),
        tuple(dict.fromkeys(peak for layer in members for peak in layer.peaks)),
    )


def total_roofs(layers: Iterable[LayerBound]) -> Mapping[Limit, float]:
    """Return the seconds under each roof on its own, of all layers."""
    total: dict[Limit, float] = {}
    for layer in layers:
        for roof, seconds in layer.roofs.items():
            total[roof] = total.get(roof, 0.0) + seconds
    return total


def _cut(path: str, depth: int) -> str:
    return ".".join(path.split(".")[:depth])
