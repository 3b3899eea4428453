"""Writing of results: to standard output, or to a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from netcalc.diagnostics import Diagnostic, distinct
from netcalc.files import write_file
from netcalc.render.escapes import outgoing
from netcalc.render.text import terminal_of


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to standard error, each once."""
    from netcalc.render.diagnostics import render_diagnostics

    print(render_diagnostics(distinct(diagnostics), terminal_of(sys.stderr)), file=sys.stderr)


def write(lines: Iterable[str], output: str | None = None, *, option: str = "--output ") -> None:
    """Write lines; NetcalcError (E502) if the file, which ``option`` names, cannot be written."""
    if output is None:
        sys.stdout.writelines(line + "\n" for line in lines)
    else:
        write_file((outgoing(line + "\n", styled=False).encode() for line in lines), output, option)
