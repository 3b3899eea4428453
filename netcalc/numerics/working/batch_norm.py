"""Working of normalizations by channel."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from netcalc.numerics.working import Call, working
from netcalc.numerics.working.norm import deviation_line, element, statistics
from netcalc.numerics.working.text import MOST, listing
from netcalc.opdef import WorkingLine
from netcalc.ops.batch_norm import BatchNorm, InstanceNorm


@working("batch_norm", "instance_norm")
def batch_norm(call: Call) -> Iterator[WorkingLine]:
    """Yield the statistics of one channel, of the batch or running ones, and its first elements.

    The channel and its statistics are those of the place: of a batch norm over all samples, of an instance norm of one.
    """
    op, x = call.op, call.x
    assert isinstance(op, (BatchNorm, InstanceNorm))
    sample, channel, *rest = call.place(x.shape)
    values = x[:, channel] if isinstance(op, BatchNorm) else x[sample, channel]
    running = [call.params.get(name) for name in ("running_mean", "running_var")]
    tracked = running[0] is not None and running[1] is not None and not call.training
    named = f"x[:,{channel}]" if isinstance(op, BatchNorm) else f"x[{sample},{channel}]"
    yield WorkingLine(named, "", "", listing(values.reshape(-1)))
    if tracked:
        mean, variance = (float(np.asarray(v)[channel]) for v in running)
        yield WorkingLine("running mean", "", "", mean)
        yield WorkingLine("running variance", "", "", variance)
        yield deviation_line(variance, op.eps)
    else:
        mean, variance = float(values.mean()), float(values.var())
        yield from statistics(values.reshape(-1), op.eps)
    gains = [None if v is None else v[channel] for v in (call.optional("weight", 1), call.optional("bias", 2))]
    samples = range(x.shape[0]) if isinstance(op, BatchNorm) else (sample,)
    places = [(n, channel, *p) for n in samples for p in np.ndindex(x.shape[2:])]
    first = places.index((sample, channel, *rest))
    for at in places[first : first + MOST]:
        yield element(call, at, x[at], mean, math.sqrt(variance + op.eps), *gains)
