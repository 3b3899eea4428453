"""The commands ``shapes``, ``params``, ``flops`` and ``summary``, which show one result in four views."""

from __future__ import annotations

from netcalc.cli.options import ROW_OPTIONS, ChartOptions, ColumnOptions, LayoutOptions
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, Verb, verb
from netcalc.notation_options import NotationOptions
from netcalc.options import ConventionOptions, CountOptions, LayerOptions, ReportName, SummaryOptions


def report_command(view: ReportName, *groups: type) -> Verb:
    """Return the command that writes a view of a summary; ``groups`` are the options that not all views have."""

    drawn = view != "shapes"
    further = (ChartOptions,) if drawn else ()

    @verb(
        *(*groups, LayerOptions, ColumnOptions, LayoutOptions, *further, *ROW_OPTIONS),
        writes=(*REPORTS, *PICTURES) if drawn else REPORTS,
    )
    def command(call: Call) -> None:
        if call["formula"]:
            return call.write(call.network().formulas(view=view, **call.of(CountOptions, NotationOptions)))
        return call.write(call.network().summary(view=view, **call.of(ConventionOptions, SummaryOptions)))

    return command
