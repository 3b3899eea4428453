"""A row of a repeated block gives the figures of one instance; ×N is the number of instances.

A module that is called several times is one row, with the number of its calls and their sums. A pipeline of diffusers
is a list of its parts with their figures and totals; --set unet:NAME=VALUE changes one of them, as --quantize unet:int8
and --prune unet:0.5 do.

--charts draws the layers with most parameters and most work as bars, or those that --sort, --top and --filter select;
-o FILE.svg writes the bars, or .png with the extra 'plot'.
"""

from __future__ import annotations

from netcalc.arguments import options_of
from netcalc.cli.options import ROW_OPTIONS, ChartOptions, ColumnOptions, LayoutOptions
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.notation_options import NotationOptions
from netcalc.options import (
    ConventionOptions,
    CountOptions,
    LayerOptions,
    ModelOptions,
    PipelineOptions,
    SummaryOptions,
    WorkOptions,
)


@verb(
    *(
        ConventionOptions,
        NotationOptions,
        WorkOptions,
        LayerOptions,
        ColumnOptions,
        LayoutOptions,
        ChartOptions,
        *ROW_OPTIONS,
    ),
    writes=(*REPORTS, *PICTURES),
)
def command(call: Call) -> int:
    """Report shapes, parameters and work of a network, or of the parts of a pipeline."""
    try:
        network = call.network()
    except NetcalcError as error:
        from netcalc.formats.diffusers.pipeline import PipelineError

        if not isinstance(error, PipelineError):
            raise
        return _pipeline(call)
    if call["formula"]:
        call.write(network.formulas(**call.of(CountOptions, NotationOptions)))
        return 0
    call.write(network.summary(**call.of(ConventionOptions, SummaryOptions)))
    return 0


def _pipeline(call: Call) -> int:
    """Report the parts of a pipeline; the exit code says if all networks are counted."""
    from netcalc.cli import EXIT_INPUT
    from netcalc.loading import summarize_pipeline

    counted = {**options_of(WorkOptions), **options_of(LayerOptions), **options_of(ModelOptions)}
    others = sorted({*counted, "columns"} - {*options_of(PipelineOptions)} | {"example"})
    if given := [name for name in call.given(*others) if name not in counted or call[name] != counted[name].default]:
        message = f"--{given[0].replace('_', '-')} is for a network, not for a pipeline"
        hint = f"name one of its parts: `netcalc summary {call['model']}/PART`"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
    summary = summarize_pipeline(call["model"], **{**call.of(PipelineOptions), **call.mode()})
    call.warn(summary.diagnostics)
    call.write(summary)
    return EXIT_INPUT if summary.diagnostics else 0
