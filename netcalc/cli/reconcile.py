"""Totals of one forward pass under two counting conventions, and each group of terms that makes the difference, by
operation. The groups add up to the difference exactly. --depth N shows the layers of each group.

--from and --to take any convention, or the YAML file of your own. Where one counts multiply-adds and the other
operations, the change of the unit is a group of its own, and the others are in the unit of --to.

--reported 11.29G explains a number instead: conventions, MACs or FLOPs, batch, resolution, length, head and
embeddings, half of causal attention, forward or with backward, and prefixes of 1000 or 1024 are searched for what
reproduces each printed digit. Up to ten explanations are listed, those with the fewest choices first, with the command
that prints the figure. Sizes that --set fixes are not searched. The exit code is 1 if nothing explains the number.
"""

from __future__ import annotations

from netcalc.cli.options import FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import ModelOptions, SelectOptions
from netcalc.reconcile_options import ReconcileOptions, ReportedOptions


@verb(
    ReconcileOptions,
    ReportedOptions,
    SelectOptions,
    FormatOptions,
    OutputOptions,
    ModelOptions,
    ModeOptions,
    writes=REPORTS,
)
def command(call: Call) -> int:
    """Show where two counting conventions differ, or what explains a number."""
    from netcalc.cli import EXIT_CHECK

    reported = call.of(ReportedOptions)
    if reported.get("reported") is None and reported.get("reported_params") is None:
        call.write(call.network().reconcile(**call.of(ReconcileOptions)))
        return 0
    if call.of(ReconcileOptions):
        hint = "leave them out: --reported searches all conventions"
        raise NetcalcError(Diagnostic("E502", "--from, --to and --depth are of two conventions", hint=hint))
    diagnosis = call.network().reconcile_reported(**reported)
    call.write(diagnosis)
    return 0 if diagnosis.ok else EXIT_CHECK
