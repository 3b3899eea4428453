"""Counts of elements by their values."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.creation import filled


@operator("aten.histc.default")
def histc(build: Builder, input: Value, bins: int, min: Any, max: Any) -> Value:
    """Numbers of elements in bins of equal width, which without ends reach from the least element to the largest."""
    x = reshaped(build, input, [-1])
    if min == max == 0:
        low, high = (build.line(name, [x], {"axis": 0}) for name in ("min", "max"))
    else:
        low, high = (filled(build, (), end, x.type.dtype) for end in (min, max))
    inside = [build.line(name, pair) for name, pair in (("greater_equal", [x, low]), ("less_equal", [x, high]))]
    counted = cast(build, build.line("logical_and", inside), x.type.dtype)
    part = build.line("div", [build.line("sub", [x, low]), build.line("sub", [high, low])])
    place = build.line("clamp", [build.line("mul", [part], {"value": bins})], {"min": 0, "max": bins - 1})
    zeros = filled(build, (bins,), 0, x.type.dtype)
    return build.line("index_put", [zeros, counted, cast(build, place, "int64")], {"axis": 0, "accumulate": True})
