"""Small tensors in numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from netcalc.numerics.trace import MAX_VALUES
from netcalc.render.page import Line, Page, Paragraph

#: Arrays with their names.
Tensors: TypeAlias = Iterable[tuple[str, Any]]

#: Width to which numbers are wrapped in a file or a pipe.
_WIDTH = 100
#: Most tensors that a page prints in numbers.
_MOST = 16
#: Greatest magnitude below which numbers are printed with exponents.
_SMALL = 0.01


def values(always: Tensors, others: Tensors, what: str, width: int | None) -> Page:
    """Yield the small ones of tensors, each with its name.

    ``others`` are printed if there is space for all of them; ``what`` names them in the line that says that there is
    none, and the option that chooses some.
    """
    shown, more = _small(always)[:_MOST], _small(others)
    fit = len(shown) + len(more) <= _MOST
    for name, array in [*shown, *(more if fit else ())]:
        lines = numbers_text(array, width).split("\n")
        yield Paragraph([Line(f"{name} ="), *map(Line, lines)], verbatim=True)
    if not fit:
        text = (
            f"{len(more):,} {what} of at most {MAX_VALUES} elements are not printed in numbers; --format json has them"
        )
        yield Paragraph([Line("", text, "dim")])


def _small(tensors: Tensors) -> list[tuple[str, Any]]:
    return [(name, array) for name, array in tensors if array.size <= MAX_VALUES]


def numbers_text(array: Any, width: int | None) -> str:
    """Return the numbers of an array in nested brackets, wrapped to a width."""
    import numpy as np

    is_small = array.size > 0 and array.dtype.kind == "f" and bool(np.all(np.abs(array) < _SMALL))
    return str(
        np.array2string(array, precision=4, suppress_small=not is_small, max_line_width=width or _WIDTH, separator=", ")
    )
