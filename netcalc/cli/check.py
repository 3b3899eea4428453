"""A spec passes if it fits the schema, its shapes fit at the default sizes, its requirements hold, each figure
under `published` is what netcalc counts, or has a note that says why it differs, and nothing exceeds its `budget`.

A name that nothing uses is a finding too. A folder stands for all specs in it, a pattern such as 'nets/**/*.yaml' for
the files that match, and files of counting conventions are checked as well.

The exit code is 0 if all checks pass, 1 if there is a finding, and 2 if a spec cannot be loaded. --format github prints
the findings as annotations of GitHub Actions, --format sarif or -o FILE.sarif as SARIF 2.1.0 for code scanning.
"""

from __future__ import annotations

from inspect import Parameter

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import CheckFormatOptions, OutputOptions
from netcalc.cli.suffixes import FINDINGS, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.options import SelectOptions, SourceOptions

_SPECS = Declared(
    "specs",
    list[str],
    Parameter.empty,
    Argument(metavar="MODEL...", help="Spec files, folders, patterns, shipped names, or models."),
)


@verb(
    SelectOptions, CheckFormatOptions, OutputOptions, SourceOptions, arguments=(_SPECS,), writes=(*REPORTS, *FINDINGS)
)
def command(call: Call) -> int:
    """Check specs: schema, shapes, requirements, published figures and budgets."""
    from netcalc.cli import EXIT_CHECK, EXIT_INPUT
    from netcalc.loading import check
    from netcalc.render.progress import Progress

    with Progress() as progress:
        report = check(*call["specs"], **call.of(SourceOptions), progress=progress)
    call.warn(report.diagnostics)
    call.write(report)
    return 0 if report.ok else EXIT_INPUT if report.diagnostics else EXIT_CHECK
