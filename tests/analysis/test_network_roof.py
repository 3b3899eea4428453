"""The roof of the network against hand arithmetic of a ring on published links."""

import pytest

from netcalc.analysis.parallel.network import link_bounds, network_roof
from netcalc.analysis.parallel.traffic import Traffic
from netcalc.planning.devices import devices_of

_H100 = devices_of("h100").device
#: A ring all-reduce of 8 GB among 8 ranks: each sends 7 pieces of 1 GB twice.
_RING = Traffic("data", "all-reduce", 8, 1, 8 * 10**9, 14 * 10**9, 8)


def test_a_ring_on_nvlink() -> None:
    # NVLink 4: 18 links of 25 GB/s in one direction
    assert network_roof(link_bounds([_RING], _H100, 8)) == pytest.approx(14 / 450)


def test_a_ring_over_smaller_nodes_takes_the_network() -> None:
    device = _H100._replace(network_link=50 * 10**9)
    node, network = link_bounds([_RING], device, 4)
    assert (node.sent, network.sent) == (0, 14 * 10**9) and network.seconds == pytest.approx(14 / 50)


def test_an_unknown_link_is_missing_and_not_zero() -> None:
    device = _H100._replace(network_link=None)
    assert network_roof(link_bounds([_RING], device, 4)) is None
    assert network_roof(link_bounds([], device, 4)) == 0
