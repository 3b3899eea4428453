"""Writing of results: to standard output, or to a file that is replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from netcalc.cli.suffixes import suffix_of
from netcalc.diagnostics import Diagnostic, NetcalcError, distinct
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


def write_file(parts: Iterable[bytes], path: str, option: str) -> None:
    """Replace a file as a whole; NetcalcError (E502) if the file, which ``option`` names, cannot be written."""
    from netcalc.files import replacing

    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.writelines(parts)
    except OSError as error:
        message = f"{option}{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message)) from None


def write_charts(path: str, result: Any, option: str) -> None:
    """Write the charts of a result below one another as .svg or .png, replacing the file as a whole.

    Raises:
        NetcalcError: E502 if the file, which ``option`` names, cannot be written.
    """
    from netcalc.render.presentations import charts

    if suffix_of(path) == ".png":
        from netcalc.render.plot_png import charts_png

        content = charts_png(charts(result))
    else:
        from netcalc.render.plot_svg import charts_svg

        content = charts_svg(charts(result)).encode()
    write_file([content], path, f"{option} ")
