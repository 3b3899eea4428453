"""Devices and schemes that ``netcalc fit`` compares without being asked, and its reserve, from ``data/fit.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from netcalc.amounts import share_in, size_in_bytes
from netcalc.analysis.devices import Device
from netcalc.diagnostics import Diagnostic, NetcalcError

_FILE = Path(__file__).parent.parent / "data" / "fit.yaml"


@cache
def _data() -> dict[str, Any]:
    from netcalc.spec.yaml_document import parse_yaml

    data: dict[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return data


def common_devices() -> Sequence[str]:
    """Return the names of common devices."""
    names: list[str] = _data()["devices"]
    return names


def common_schemes(decodes: bool) -> Sequence[str]:
    """Return the names of common forms of weights; ``decodes`` is True for a network that decodes step by step."""
    names: list[str] = _data()["schemes"]
    mixtures: list[str] = _data()["mixtures"] if decodes else []
    return [*names, *mixtures]


def reserve_of(device: Device, reserve: str | int | None) -> tuple[int, str]:
    """Return the bytes of a device that a network may not fill, and a remark on them.

    Args:
        device: the device, whose memory is known.
        reserve: bytes, a percentage such as ``5%``, or None for the default: a share of a device, nothing of a budget.

    Raises:
        NetcalcError: E502 for something else, or if nothing is left.
    """
    assert device.memory is not None
    if reserve is None and device.is_budget:
        return 0, "--reserve 0 of bytes that are named"
    source = f", as {_data()['reserve']['source']}" if reserve is None else ""
    text = f"{_data()['reserve']['percent']}%" if reserve is None else str(reserve)
    share = share_in(text)
    size = size_in_bytes(text) if share is None else int(device.memory * share)
    if size is None:
        raise NetcalcError(Diagnostic("E502", f"--reserve {text}: should be bytes, such as 1GiB, or a percentage"))
    if size >= device.memory:
        raise NetcalcError(Diagnostic("E502", f"--reserve {text}: leaves nothing of {device.title}"))
    return size, f"--reserve {text} of a device for the framework{source}"
