"""Working of functions of single elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netcalc.numerics.working import Call
from netcalc.numerics.working.text import MOST, indexed, num
from netcalc.opdef import WorkingLine


def elementwise(call: Call) -> Iterator[WorkingLine]:
    """Yield the values of a function at the first elements from the place on."""
    x, y = call.x, call.outputs[0]
    start = int(np.ravel_multi_index(call.place(y.shape), y.shape)) if y.ndim else 0
    for flat in range(start, min(start + MOST, y.size)):
        place = tuple(int(i) for i in np.unravel_index(flat, y.shape))
        yield WorkingLine(
            indexed("y", place), f"{call.op.name}(x)", f"{call.op.name}({num(x[place])})", float(y[place])
        )
