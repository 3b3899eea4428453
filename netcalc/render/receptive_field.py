"""Columns of receptive fields."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from netcalc.analysis.receptive_field import AxisField, Fields
from netcalc.render.table import ALWAYS, Column

COLUMNS = (
    Column("field", key="receptive_field"),
    Column("stride", key="effective_stride"),
    Column("offset", priority=ALWAYS - 2, key="offset"),
)


def field_texts(fields: Fields) -> tuple[str, str, str]:
    """Return size, stride and offset as text, ``7×7``; once where a layer depends on the whole input."""
    return (
        _by_axis(fields, _size),
        _by_axis(fields, lambda f: _number(f.stride)),
        _by_axis(fields, lambda f: _number(f.offset), ", "),
    )


def plain_fields(fields: Fields) -> tuple[str, ...]:
    """Return the texts for CSV, with ASCII signs."""
    return tuple(text.replace("×", "x").replace("−", "-").replace(", ", "x") for text in field_texts(fields))


def _by_axis(fields: Fields, write: Callable[[AxisField], str], between: str = "×") -> str:
    """Return the texts of all axes, once if no axis has a number."""
    texts = [write(field) for field in fields]
    numbered = any(text[:1].isdigit() or text[:1] == "−" for text in texts)
    return between.join(text or "–" for text in texts) if numbered else " and ".join(dict.fromkeys(texts))


def _size(field: AxisField) -> str:
    return "not known" if field.size is None else str(field.size)


def _number(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):g}".replace("-", "−")
