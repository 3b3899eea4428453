"""Writing of results: to standard output, or to a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from netcalc.diagnostics import Diagnostic, distinct
from netcalc.files import write_file
from netcalc.limits import MAX_SHOWN_ERRORS
from netcalc.render.escapes import outgoing
from netcalc.render.text import terminal_of


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to standard error, each once; to a terminal with the commands that explain their errors."""
    from netcalc.render.diagnostics import render_diagnostics

    listed, terminal = distinct(diagnostics), terminal_of(sys.stderr)
    print(render_diagnostics(listed, terminal), file=sys.stderr)
    codes = dict.fromkeys(each.code for each in listed[:MAX_SHOWN_ERRORS] if not each.is_warning)
    if codes and sys.stderr.isatty():
        pages = ", ".join(f"netcalc help {code}" for code in codes)
        print(terminal.styled("more", "note") + f": {pages}", file=sys.stderr)


def write(lines: Iterable[str], output: str | None = None, *, option: str = "--output ") -> None:
    """Write lines; NetcalcError (E502) if the file, which ``option`` names, cannot be written."""
    if output is None:
        sys.stdout.writelines(line + "\n" for line in lines)
    else:
        write_file((outgoing(line + "\n", styled=False).encode() for line in lines), output, option)
