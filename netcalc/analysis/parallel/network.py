"""The roof of the network: seconds that a device of a split needs at least for the bytes that it sends in a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.devices import Device
from netcalc.analysis.parallel.traffic import Traffic, sent_by_link

#: Devices of a node.
NODE_DEVICES = 8
#: Link of a device: to the other devices of its node, or to other nodes.
Link: TypeAlias = Literal["node", "network"]


class LinkBound(NamedTuple):
    """Bytes that a device sends over a link in a step."""

    link: Link
    sent: int
    """Bytes."""
    rate: int | None
    """Bytes a second in one direction; null if it is not published."""

    @property
    def seconds(self) -> float | None:
        """Least time in seconds; null if bytes are sent and the rate is not published."""
        if not self.sent:
            return 0.0
        return None if self.rate is None else self.sent / self.rate


def link_bounds(traffic: Iterable[Traffic], device: Device, node: int) -> tuple[LinkBound, ...]:
    """Return what a device sends over its links, in nodes of so many devices."""
    sent = sent_by_link(traffic, node)
    return (
        LinkBound("node", sent["node"], device.node_link),
        LinkBound("network", sent["network"], device.network_link),
    )


def network_roof(links: Iterable[LinkBound]) -> float | None:
    """Return the least time of links that send beside each other, in seconds; None if one of them is not known."""
    seconds = [bound.seconds for bound in links]
    known = [one for one in seconds if one is not None]
    return max(known, default=0.0) if len(known) == len(seconds) else None
