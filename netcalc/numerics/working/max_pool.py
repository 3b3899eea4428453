"""Working of maximum pooling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netcalc.numerics.working import Call, working
from netcalc.numerics.working._pooling import window
from netcalc.numerics.working.text import indexed, listing, rows
from netcalc.opdef import WorkingLine


@working("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(call: Call) -> Iterator[WorkingLine]:
    """Yield the window of one element and its maximum."""
    place, values = window(call, call.op)
    yield from rows("window", values)
    inside = values[~np.isnan(values)]
    yield WorkingLine(indexed("y", place), "max", f"max({listing(inside)})", float(call.outputs[0][place]))
