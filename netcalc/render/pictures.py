"""Pictures of charts, written as .svg or .png."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import write_file

if TYPE_CHECKING:
    from netcalc.render.plot import Drawing


def write_charts(path: str, charts: Sequence[Drawing]) -> None:
    """Write charts below one another, replacing the file as a whole.

    Raises:
        NetcalcError: E502 for a suffix other than .svg and .png, and for a file that cannot be written.
    """
    match Path(path).suffix.lower():
        case ".png":
            from netcalc.render.plot_png import charts_png

            content = charts_png(charts)
        case ".svg":
            from netcalc.render.plot_svg import charts_svg

            content = charts_svg(charts).encode()
        case _:
            raise NetcalcError(Diagnostic("E502", f"{path}: a picture is an .svg or a .png"))
    write_file([content], path)
