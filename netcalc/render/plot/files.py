"""Files of drawings, .svg or .png."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import write_file
from netcalc.render.plot.charts import Drawing
from netcalc.render.plot.svg import charts_svg


def write_charts(path: str, charts: Sequence[Drawing]) -> None:
    """Write drawings below one another, replacing the file as a whole.

    Raises:
        NetcalcError: E502 for a suffix other than .svg and .png, a PNG without the extra ``plot``, and for a file that
            cannot be written.
    """
    svg = charts_svg(charts)
    if require_picture(path) == ".png":
        from netcalc.render.rasterizer import png_of

        write_file([png_of(svg)], path)
    else:
        write_file([svg.encode()], path)


def require_picture(path: str) -> str:
    """Return the suffix of a picture; NetcalcError (E502) for another one."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".svg", ".png"):
        message = f"{path}: {suffix} files are not written here" if suffix else f"{path}: the name has no suffix"
        hint = "the suffix chooses what is written: .svg or .png"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
    return suffix
