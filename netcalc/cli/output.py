"""Writing of results: to standard output, or to a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from netcalc.diagnostics import Diagnostic, NetcalcError, distinct
from netcalc.render.escapes import outgoing
from netcalc.render.text import PLAIN, Terminal, terminal_of


def terminal_for(output: str | None, *, wide: bool = False) -> Terminal:
    """Return the properties of the output: a file has no colours and no width; ``wide`` removes the width."""
    terminal = terminal_of(sys.stdout) if output is None else PLAIN
    return terminal._replace(width=None) if wide else terminal


def write(lines: Iterable[str], output: str | None = None, *, option: str = "--output ") -> None:
    """Write lines; NetcalcError (E502) if the file, which ``option`` names, cannot be written."""
    if output is None:
        sys.stdout.writelines(line + "\n" for line in lines)
        return
    from netcalc.files import replacing

    try:
        with replacing(output) as path, path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(outgoing(line + "\n", styled=False) for line in lines)
    except OSError as error:
        message = f"{option}{output} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message)) from None


def print_warnings(warnings: Iterable[Diagnostic]) -> None:
    """Write warnings to standard error, each once."""
    unique = distinct(warnings)
    if unique:
        from netcalc.render.diagnostics import render_diagnostics

        print(render_diagnostics(unique, terminal_of(sys.stderr)), file=sys.stderr)
