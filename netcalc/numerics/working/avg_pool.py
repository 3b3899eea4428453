"""Working of average pooling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netcalc.numerics.kernels._pooling import elements, windows_of
from netcalc.numerics.working import Call, working
from netcalc.numerics.working._pooling import window
from netcalc.numerics.working.text import indexed, num, rows, total
from netcalc.opdef import WorkingLine
from netcalc.ops.avg_pool import AvgPooling


@working("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(call: Call) -> Iterator[WorkingLine]:
    """Yield the window of one element, the sum and the number that it is divided by."""
    op = call.op
    assert isinstance(op, AvgPooling)
    place, values = window(call, op)
    yield from rows("window", values)
    inside = values[~np.isnan(values)]
    sizes = call.x.shape[-op.axes :]
    counts = elements(windows_of(op, sizes), sizes, with_padding=op.count_include_pad)
    count = op.divisor_override or int(np.broadcast_to(counts, call.outputs[0].shape)[place])
    text = f"({total(map(num, inside))})/{count}"
    yield WorkingLine(indexed("y", place), "sum/count", text, float(call.outputs[0][place]))
