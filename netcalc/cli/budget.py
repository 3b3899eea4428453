"""Limits of a network's figures, for a check in continuous integration. The exit code is 0 if nothing exceeds its
limit, 1 if something does, and 2 if the model cannot be read. Of each figure that exceeds its limit the parts that
weigh most are shown.

Limits are options, or a section of the spec such as `budget: {params: 25M, macs: 4.1G, memory: 120MiB}`, which the
options replace one by one. Numbers take k, M, G, B and T, bytes kB and KiB and so on.

--against main.json guards a change: it is a record that `netcalc summary MODEL --format json` has written earlier, of
which no total may grow, or by no more than --allow 1%. The layers that grew most are shown.

Memory is that of a forward pass: --max-weights are the parameters as they are stored, --max-activations the peak of
an ideal execution, and --max-memory both with buffers and caches, as `netcalc memory` prints them.
"""

from __future__ import annotations

from netcalc.budget_options import BudgetOptions
from netcalc.cli.options import FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.options import ModelOptions


@verb(BudgetOptions, FormatOptions, OutputOptions, ModelOptions, ModeOptions, without=("symbolic",), writes=REPORTS)
def command(call: Call) -> int:
    """Check that a model is within its budget."""
    from netcalc.cli import EXIT_CHECK

    report = call.network().budget(**call.of(BudgetOptions))
    call.write(report)
    return 0 if report.ok else EXIT_CHECK
