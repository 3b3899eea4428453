"""Numbers, sums and products of working as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.opdef import WorkingLine

#: Most terms of a sum, and numbers of a list, that are written out.
MOST = 9
#: Most rows of a matrix that are written out.
ROWS = 8


def num(value: Any) -> str:
    """Return a number with six digits.

    >>> num(11.15795680), num(-5.0)
    ('11.158', '−5')
    """
    text = f"{float(value):.6g}"
    return text.replace("-", "−") if text != "-0" else "0"


def factor(value: Any) -> str:
    """Return a number as an operand of a product: in brackets if it is negative.

    >>> factor(-5.0)
    '(−5)'
    """
    text = num(value)
    return f"({text})" if text.startswith("−") else text


def difference(value: Any, other: Any) -> str:
    """Return a difference of numbers.

    >>> difference(10, -2.5)
    '10 + 2.5'
    """
    text = num(other)
    return f"{num(value)} + {text[1:]}" if text.startswith("−") else f"{num(value)} − {text}"


def total(terms: Iterable[str]) -> str:
    """Return a sum of terms, of many the first and the last ones.

    >>> total(["10", "2", "−5", "25"])
    '10 + 2 − 5 + 25'
    """
    parts = shortened(list(terms))
    text = parts[0] if parts else "0"
    for part in parts[1:]:
        text += f" − {part[1:]}" if part.startswith("−") else f" + {part}"
    return text


def products(left: Iterable[Any], right: Iterable[Any]) -> list[str]:
    """Return the products of two lists of numbers as text."""
    return [f"{factor(a) if i else num(a)}·{factor(b)}" for i, (a, b) in enumerate(zip(left, right, strict=True))]


def listing(values: Iterable[Any]) -> str:
    """Return numbers with commas between them, of many the first and the last ones."""
    return ", ".join(shortened([num(value) for value in values]))


def shortened(parts: list[str]) -> list[str]:
    """Return the first and the last of many parts, with an ellipsis between them."""
    return parts if len(parts) <= MOST else [*parts[: MOST - 3], "…", *parts[-2:]]


def indexed(name: str, place: Sequence[int | str]) -> str:
    """Return a name with an index.

    >>> indexed("y", (0, 3))
    'y[0,3]'
    """
    return f"{name}[{','.join(map(str, place))}]" if place else name


def rows(name: str, array: Array) -> Iterator[WorkingLine]:
    """Yield a line for each of the first rows of an array, along its last axis."""
    if array.ndim < 2:
        yield WorkingLine(name, "", "", listing(array.reshape(-1)))
        return
    leading = list(np.ndindex(array.shape[:-1]))
    for place in leading[:ROWS]:
        yield WorkingLine(indexed(name, place), "", "", listing(array[place]))
    if len(leading) > ROWS:
        yield WorkingLine(f"{name} …", "", "", f"{len(leading) - ROWS:,} more rows")
