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
    match Path(path).suffix.lower():
        case ".png":
            from netcalc.render.rasterizer import png_of

            content = png_of(charts_svg(charts))
        case ".svg":
            content = charts_svg(charts).encode()
        case suffix:
            message = f"{path}: {suffix} files are not written here" if suffix else f"{path}: the name has no suffix"
            hint = "the suffix chooses what is written: .svg or .png"
            raise NetcalcError(Diagnostic("E502", message, hint=hint))
    write_file([content], path)
