"""Values of a table as text, by the kind of their column."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from netcalc.dims import Dim, Poly
from netcalc.render.numbers import (
    bytes_text,
    exact,
    mark_of,
    plain_shape,
    seconds_text,
    shape_text,
    shapes_text,
    share,
    short,
)
from netcalc.render.table import Column, Elements, Share, Sides, Tied, Uncounted

#: Significant digits of a rounded number.
_DIGITS = 4
#: Space in place of a unit, which aligns the digits of small numbers with those of others.
_NO_UNIT = "  "


def text_writer(column: Column, formulas: int = 72, *, rounded: bool = False) -> Callable[[Any], str]:
    """Return the function that writes a value of the column for a reader.

    Figures in symbolic sizes are as long as ``formulas``.  With ``rounded``, numbers of work and of elements have a few
    digits and a unit.
    """
    plain = _named_shapes if column.kind == "named_shapes" else _WRITERS.get(column.kind, exact)
    of_elements = plain
    if column.kind == "shapes":
        plain = shapes_text
    elif column.kind == "shape":
        plain = shape_text
    elif column.kind == "amount":
        plain, of_elements = (partial(short, digits=column.digits, elements=elements) for elements in (False, True))
    elif rounded and column.kind in ROUNDED:
        plain, of_elements = (partial(ROUNDED[column.kind], elements=elements) for elements in (False, True))
        plain = of_elements if column.kind == "count" else plain

    def write(value: Any) -> str:
        if value is None:
            return ""
        if value.__class__ is Elements:
            return write(value.value) if value.value.__class__ is Poly else of_elements(value.value)
        if value.__class__ is Poly and column.kind in ("count", "work", "total"):
            return exact(value, formulas, column.symbols)
        if value.__class__ is Poly and column.kind == "bytes":
            return bytes_text(value, column.symbols)
        if value.__class__ is Sides:
            return _sides(value, write)
        if value.__class__ is Tied:
            return f"{write(value.value).strip()} tied"
        return "–" if value.__class__ is Uncounted else plain(value)

    return write


def data_writer(column: Column) -> Callable[[Any], object]:
    """Return the function that writes a value of the column for a program: plain digits, and None for no value."""

    def write(value: Any) -> object:
        if value is None:
            return None
        if isinstance(value, Sides):
            return _sides(value, lambda side: str(write(side)))
        if isinstance(value, (Elements, Tied, Uncounted)):
            return write(value.value)
        if isinstance(value, Share):
            are_numbers = isinstance(value.part, int) and isinstance(value.whole, int) and value.whole
            return value.part / value.whole if are_numbers else None  # type: ignore[operator]
        if column.kind == "shapes":
            return " ".join(plain_shape(type_.shape, mark_of(type_)) for type_ in value if type_ is not None)
        if column.kind == "shape":
            return plain_shape(value)
        if column.kind == "named_shapes":
            return ", ".join(f"{name} {plain_shape(shape)}" for name, shape in value)
        return str(value) if isinstance(value, Poly) else value

    return write


def _sides(sides: Sides, write: Callable[[Any], str]) -> str:
    """The values once where all are the same, and else one after the other: ``3 → 1``."""
    texts = [write(value) for value in sides.values if value is not None]
    return texts[0] if len(set(texts)) == 1 else " → ".join(texts)


def _count(value: Any) -> str:
    return "" if value == 0 else exact(value)


def _difference(value: Any) -> str:
    """A difference with its sign, ``=`` for none."""
    if not isinstance(value, int):
        return exact(value)
    return f"{value:+,}".replace("-", "−") if value else "="


def _rounded(value: Dim, *, elements: bool) -> str:
    text = short(value, _DIGITS, elements=elements)
    return text if " " in text else text + _NO_UNIT


def _rounded_count(value: Dim, *, elements: bool) -> str:
    return "" if value == 0 else _rounded(value, elements=elements)


def _rounded_difference(value: Dim, *, elements: bool) -> str:
    if not isinstance(value, int) or value == 0:
        return _difference(value)
    return ("+" if value > 0 else "") + _rounded(value, elements=elements).replace("-", "−")


#: Writers of rounded numbers, by the kind of their column.
ROUNDED: dict[str, Callable[..., str]] = {
    "count": _rounded_count,
    "work": _rounded,
    "difference": _rounded_difference,
}


def _ratio(value: float) -> str:
    return f"{value:,.3f}" if value >= 0.1 or value == 0 else f"{value:.3g}"


def _named_shapes(value: Any) -> str:
    return ", ".join(f"{name} {shape_text(shape)}" for name, shape in value)


def _words(value: Any) -> str:
    """Text, and whole numbers that stand in its place."""
    return value if isinstance(value, str) else exact(value)


_WRITERS: dict[str, Callable[[Any], str]] = {
    "figure": _words,
    **dict.fromkeys(("path", "name", "text", "prose", "line"), _words),
    "count": _count,
    "work": exact,
    "total": exact,
    "bytes": lambda value: "" if value == 0 else bytes_text(value),
    "share": lambda value: share(value.part, value.whole),
    "difference": _difference,
    "ratio": _ratio,
    "real": lambda value: f"{value:.4g}",
    "milliseconds": lambda value: f"{value * 1e3:,.3f}",
    "seconds": lambda value: "" if value == 0 else seconds_text(value),
    "rate": lambda value: f"{value / 1e9:,.1f}",
    "percentage": lambda value: f"{value:.1%}".replace("%", " %"),
}
