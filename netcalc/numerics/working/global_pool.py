"""Working of pooling over all positions of a channel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netcalc.numerics.working import Call, working
from netcalc.numerics.working.text import indexed, listing, num, total
from netcalc.opdef import WorkingLine

_AXES = (1, 2, 3)


@working(*(f"global_{kind}_pool{axes}d" for kind in ("avg", "max") for axes in _AXES))
def global_pool(call: Call) -> Iterator[WorkingLine]:
    """Yield the elements of one channel and their mean or maximum."""
    op: Any = call.op
    y, x = call.outputs[0], call.x
    place = call.place(y.shape)
    values = x[place[: x.ndim - op.axes]].reshape(-1)
    average = "avg" in op.name
    text = f"({total(map(num, values))})/{values.size}" if average else f"max({listing(values)})"
    yield WorkingLine(indexed("y", place), "mean" if average else "max", text, float(y[place]))
