"""For each size of --over: the formula of parameters and work in it, all other sizes being numbers, its degree and
leading term, the share of each term at some sizes, and the factor by which a figure grows when the size doubles. The
parts of the network that overtake each other are named with the exact size.

--over length takes doublings of the size that the model has; --over length=1k,8k,64k names the sizes. Dims and vars
scale alike: --over length,d_model,layers.

A chart with two logarithmic axes shows the whole and its greatest parts; -o FILE.svg writes it, or .png with the extra
'plot'.
"""

from __future__ import annotations

from netcalc.cli.options import ROW_OPTIONS
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.scaling_options import ScalingOptions


@verb(ScalingOptions, *ROW_OPTIONS, writes=(*REPORTS, *PICTURES))
def command(call: Call) -> None:
    """Report how parameters and work grow with a size, and which part overtakes which."""
    call.write(call.network().scaling(**call.of(ScalingOptions)))
