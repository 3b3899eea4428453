"""The commands ``shapes``, ``params``, ``flops`` and ``summary``, which show one result in four views."""

from __future__ import annotations

from netcalc.cli.options import ROW_OPTIONS, ColumnOptions, LayoutOptions
from netcalc.cli.verb import Call, Verb, verb
from netcalc.options import ConventionOptions, LayerOptions, ReportName, SummaryOptions


def report_command(view: ReportName, *groups: type) -> Verb:
    """Return the command that writes a view of a summary; ``groups`` are the options that not all views have."""

    @verb(*groups, LayerOptions, ColumnOptions, LayoutOptions, *ROW_OPTIONS)
    def command(call: Call) -> None:
        call.write(call.network().summary(view=view, **call.of(ConventionOptions, SummaryOptions)))

    return command
