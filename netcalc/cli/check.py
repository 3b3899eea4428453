"""A spec passes if it fits the schema, its shapes fit at the default sizes, its requirements hold, each figure
under `published` is what netcalc counts, or has a note that says why it differs, and nothing exceeds its `budget`.

The exit code is 0 if all checks pass, 1 if a figure differs, and 2 if a spec cannot be loaded.
"""

from __future__ import annotations

from inspect import Parameter

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import FormatOptions, OutputOptions
from netcalc.cli.verb import Call, verb
from netcalc.options import SelectOptions, SourceOptions

_SPECS = Declared(
    "specs", list[str], Parameter.empty, Argument(metavar="MODEL...", help="Spec files, shipped names, or models.")
)


@verb(SelectOptions, FormatOptions, OutputOptions, SourceOptions, arguments=(_SPECS,))
def command(call: Call) -> int:
    """Check specs: schema, shapes, requirements, published figures and budgets."""
    from netcalc.cli import EXIT_CHECK, EXIT_INPUT
    from netcalc.loading import check

    report = check(*call["specs"], **call.of(SourceOptions))
    call.warn(report.diagnostics)
    call.write(report)
    return 0 if report.ok else EXIT_INPUT if report.diagnostics else EXIT_CHECK
