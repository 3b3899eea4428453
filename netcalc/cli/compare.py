"""Totals, operations, and the layers that differ, matched by their paths. Differences are relative to the first spec.
One spec is compared under several conventions: --convention torch --convention fvcore.

--set changes every spec that has the dim or var; --set 2:NAME=VALUE changes the second one only, as --quantize 2:int8
and --prune 2:0.5 do; a single spec is then compared with itself. --sort sorts layers by the size of a difference.

--charts draws parameters and work of each model by operation; -o FILE.svg writes the bars, or .png with the extra
'plot'.
"""

from __future__ import annotations

from netcalc.cli.command_options import SeveralOptions
from netcalc.cli.options import MODELS, ChartOptions, FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.options import ComparisonOptions, SelectOptions


@verb(
    *(ComparisonOptions, SeveralOptions, SelectOptions, ChartOptions, FormatOptions, OutputOptions, ModeOptions),
    arguments=(MODELS,),
    writes=(*REPORTS, *PICTURES),
)
def command(call: Call) -> None:
    """Compare the models, each with its own settings, or the conventions."""
    from netcalc.loading import compare

    comparison = compare(*call["models"], **{**call.of(ComparisonOptions), **call.mode()})
    call.warn(comparison.warnings)
    call.write(comparison)
