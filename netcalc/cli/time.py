"""A lower bound of the time of a pass on --device: a name such as h100 or m4-max with a number of them (h100:8), a YAML
file of your own, or this machine (this), which is measured. A layer takes at least the time of its multiply-adds at the
peak of its element type, and that of the bytes which it reads and writes at the bandwidth. It is a bound and no
forecast: --efficiency 0.4 adds the time at which 40 % of the peak is reached.

--phase prefill is the pass until the first token, decode the step of one more token, and training forward and backward;
--training adamw adds the update, --recompute full a second pass through the layers. --quantize counts: fewer bytes are
read. --tokens 15T gives days, FLOPs, PF-days and energy of a whole training.

Operations without multiply-adds are fused into others, and move only what those do not; --unfused counts them as
kernels of their own. --attention eager writes and reads scores. --arithmetic tf32, fp8 or int8 takes another peak.

Several devices (h100:16) share all work evenly, unless --tp, --pp, --dp and the like say how it is split: then the
layers are those of a rank, bound by arithmetic, memory or network, and the bound is that of the pipeline and the links.

A roofline plot shows the layers by their FLOPs for a byte; -o FILE.svg writes it, with bars of the times of layers, or
.png with the extra 'plot'.
--depth, --sort, --top and --filter select layers, --unroll shows every instance.
"""

from __future__ import annotations

from netcalc.cli.options import ROW_OPTIONS
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.options import TimeOptions


@verb(TimeOptions, *ROW_OPTIONS, without=("symbolic",), writes=(*REPORTS, *PICTURES))
def command(call: Call) -> None:
    """Bound the time of a pass on a device from below."""
    call.write(call.network().time(**call.of(TimeOptions)))
