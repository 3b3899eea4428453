"""Figures that papers and other tools print, beside what netcalc computes: printed, computed, and the verdict.

The figures are those of the files of netcalc/data/published, one for each paper, and those that shipped specs carry
under `published`. A figure is reproduced if the computed one rounds to its printed digits. Otherwise the file states
the reason, in numbers, and the verdict is explained; quoted results, such as errors, are not computed.

NAME is a spec, whose figures are computed, a paper such as korthikanti-2022, a figure such as
korthikanti-2022/fig1-22b, a pattern of figures, or a YAML file of your own. One figure alone is shown with its
commands, its formula and the reason. Without a name all figures are computed, which takes about a minute.

The exit code is 0 if each figure is reproduced, explained or quoted, 1 if one is neither, and 2 for bad input.
"""

from __future__ import annotations

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import FormatOptions, OutputOptions
from netcalc.cli.verb import Call, verb
from netcalc.options import SelectOptions

_NAMES = Declared(
    "names",
    list[str] | None,
    None,
    Argument(metavar="NAME", help="Specs, papers, figures or patterns of them, or files; all by default."),
)


@verb(SelectOptions, FormatOptions, OutputOptions, arguments=(_NAMES,))
def command(call: Call) -> int:
    """Compute published figures anew."""
    from netcalc.cli import EXIT_CHECK
    from netcalc.loading import reproduce
    from netcalc.render.progress import Progress

    with Progress() as progress:
        report = reproduce(*(call["names"] or ()), progress=progress)
    call.write(report)
    return 0 if report.ok else EXIT_CHECK
