"""Attributes of sliding windows."""

from __future__ import annotations

from typing import Any

from netcalc.dims import Dim
from netcalc.formats.graph.lines.windows import plain, unless
from netcalc.formats.graph.model import Value


def convolution_windows(
    weight: Value, out: Dim, stride: Any, padding: Any, dilation: Any, groups: int, **backend: bool
) -> dict[str, Any]:
    """Return the attributes that all convolutions have; settings of the backend do not matter."""
    return {
        "out": out,
        "kernel": plain(weight.type.shape[2:]),
        "stride": unless(stride, 1),
        "padding": None if padding == "valid" else unless(padding, 0),
        "dilation": unless(dilation, 1),
        "groups": None if groups == 1 else groups,
    }


def pooling_windows(kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> dict[str, Any]:
    """Return the attributes that all pooling with a sliding window has."""
    sizes = plain(kernel_size)
    return {
        "kernel": sizes,
        "stride": unless(stride, sizes),
        "padding": unless(padding, 0),
        "ceil_mode": ceil_mode or None,
    }
