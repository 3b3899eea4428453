"""Totals of one forward pass under two counting conventions, and each group of terms that makes the difference, by
operation. The groups add up to the difference exactly. --depth N shows the layers of each group.

--from and --to take any convention, or the YAML file of your own. Where one counts multiply-adds and the other
operations, the change of the unit is a group of its own, and the others are in the unit of --to.
"""

from __future__ import annotations

from netcalc.cli.options import FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.options import ModelOptions, SelectOptions
from netcalc.reconcile_options import ReconcileOptions


@verb(ReconcileOptions, SelectOptions, FormatOptions, OutputOptions, ModelOptions, ModeOptions, writes=REPORTS)
def command(call: Call) -> None:
    """Show where two counting conventions differ."""
    call.write(call.network().reconcile(**call.of(ReconcileOptions)))
