"""Yes or no for a workload on a device, and what decides it.

--device h100, 80GiB or the YAML file of a device names the memory. The first line is the answer; below it is what the
memory is for, then the largest batch and the largest length that fit, one more of which does not, and other forms of
the weights with the length that each leaves. --device h100:8 splits the workload over devices, and lists the splits
that fit; where one device is too small, the fewest devices are named, and the placement that leaves least to the host.
Without --device a table lists common devices.

The workload of a language model is a batch of 1 at the smaller of 8,192 positions and the model's context, all of them
at once (--phase prefill), unless --batch, --length and --phase say otherwise; --training adamw asks for a step of
training. --reserve is the memory that is left to the framework and to fragmentation. Every answer lists what it
assumes.
"""

from __future__ import annotations

from netcalc.cli.options import FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.fit_options import FitOptions
from netcalc.options import ModelOptions


@verb(FitOptions, FormatOptions, OutputOptions, ModelOptions, ModeOptions, writes=REPORTS)
def command(call: Call) -> None:
    """Say if a model fits a device, and the largest batch and length that do."""
    call.write(call.network().fit(**call.of(FitOptions)))
