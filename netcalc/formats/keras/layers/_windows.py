"""Settings that layers over windows share."""

from __future__ import annotations

import re
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form

_AXES = re.compile(r"([123])D")


def axes_of(call: Call) -> int:
    """Return the number of axes of the windows: the 2 in ``Conv2D``; RuleError if the input has others."""
    found = _AXES.search(call.layer.kind)
    assert found is not None
    count, rank = int(found[1]), call.operand().rank
    if rank != count + 2:
        raise RuleError(f"its input has {rank} axes in place of {count + 2}")
    call.channels_last()
    return count


def channels(call: Call) -> int:
    """Return the number of channels of the input; RuleError if it is open."""
    size = call.operand().shape[-1]
    if not isinstance(size, int):
        raise RuleError("the number of channels of its input is open")
    return size


def padding(call: Call, kernel: list[int], stride: list[int], dilation: list[int]) -> Any:
    """Return the padding of windows; None for none."""
    rule = call.choice("padding", ("valid", "same", "causal") if len(kernel) == 1 else ("valid", "same"), "valid")
    if rule == "valid":
        return None
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if rule == "causal":
        return [[totals[0], 0]] if totals[0] else None
    if all(step == 1 for step in stride) and not any(total % 2 for total in totals):
        sides = [total // 2 for total in totals]
        return None if not any(sides) else sides[0] if len(set(sides)) == 1 else sides
    return "same_upper"


def filters_first(axes: int) -> Form:
    """Return the form of a kernel (window, in, out), which becomes (out, in, window)."""
    return Form((axes + 1, axes, *range(axes)))
