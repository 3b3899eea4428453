"""Pictures of charts, written as .svg or .png."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError

_SUFFIXES = (".svg", ".png")


def is_picture(path: str | None) -> bool:
    """Return True for the name of a picture."""
    return path is not None and Path(path).suffix.lower() in _SUFFIXES


def require_picture(path: str | None, option: str = "--plot") -> None:
    """Raise NetcalcError (E502) if a picture that is asked for could not be written, before anything is run."""
    if path is None:
        return
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise NetcalcError(Diagnostic("E502", f"{option} {path}: a picture is an .svg or a .png"))
    if not Path(path).absolute().parent.is_dir():
        raise NetcalcError(Diagnostic("E502", f"{option} {path}: there is no folder {str(Path(path).parent)!r}"))
    if Path(path).suffix.lower() == ".png":
        from netcalc.render.plot_png import require_pillow

        require_pillow()


def write_charts(path: str, result: Any, option: str = "--plot") -> None:
    """Write the charts of a result below one another, replacing the file as a whole.

    Raises:
        NetcalcError: E502 if the file cannot be written.
    """
    from netcalc.cli.output import write_file
    from netcalc.render.presentations import charts

    if Path(path).suffix.lower() == ".png":
        from netcalc.render.plot_png import charts_png

        content = charts_png(charts(result))
    else:
        from netcalc.render.plot_svg import charts_svg

        content = charts_svg(charts(result)).encode()
    write_file([content], path, f"{option} ")
