"""Pictures in PNG, made of SVG by resvg."""

from __future__ import annotations

from functools import cache

from netcalc.diagnostics import Diagnostic, NetcalcError

_HINT = 'pip install "resvg-py>=0.5", or write an .svg'

#: Families without serifs that systems come with.
_USUAL = (
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Arial",
    "Helvetica",
    "Segoe UI",
    "Roboto",
    "Ubuntu",
    "Cantarell",
    "Verdana",
)


def require_rasterizer() -> None:
    """Raise NetcalcError (E502) if resvg-py is not installed."""
    try:
        import resvg_py  # noqa: F401
    except ImportError:
        message = "a picture in PNG needs resvg-py, which is not installed"
        raise NetcalcError(Diagnostic("E502", message, hint=_HINT)) from None


def png_of(svg: str, scale: float = 2) -> bytes:
    """Return a picture as PNG, in its colors of a light page.

    Args:
        svg: the text of an SVG document.
        scale: pixels of the PNG for one of the SVG.

    Raises:
        NetcalcError: E502 without resvg-py, or if no font is installed.
    """
    require_rasterizer()
    from resvg_py import svg_to_bytes

    return bytes(svg_to_bytes(svg_string=svg, zoom=scale, background="#ffffff", sans_serif_family=sans_serif()))


@cache
def sans_serif() -> str | None:
    """Return the family that stands for sans-serif, or None for the system's own.

    A system can name one that it lacks, and resvg then leaves the text out.

    Raises:
        NetcalcError: E502 if no font is installed.
    """
    if _draws("sans-serif"):
        return None
    for family in _USUAL:
        if _draws(family):
            return family
    hint = "install a font, such as DejaVu Sans, or write an .svg"
    raise NetcalcError(Diagnostic("E502", "a picture in PNG needs a font, and none is installed", hint=hint))


def _draws(family: str) -> bool:
    """Return True if text in a family leaves a trace in a picture."""
    from resvg_py import svg_to_bytes

    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'
    text = f'<text x="2" y="16" font-family="{family}" font-size="16">MM</text>'
    return bytes(svg_to_bytes(svg_string=svg.format(text))) != bytes(svg_to_bytes(svg_string=svg.format("")))
