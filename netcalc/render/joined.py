"""Statistics of numbered tensors of one type as statistics of one tensor, for tables of runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from netcalc.analysis.numbered import fold_numbered

if TYPE_CHECKING:
    from netcalc.numerics.trace import TraceRow

#: Tensors of a list that are shown one by one.
_FEW = 3


def joined_rows(rows: Sequence[TraceRow]) -> Iterator[TraceRow]:
    """Yield the rows, with the statistics of all elements together where numbered tensors of one type are many."""
    by_path = {row.path: row for row in rows}
    for names, _ in fold_numbered((row.path, (row.op, row.shape, row.dtype)) for row in rows):
        members = [by_path[member] for member in names.members]
        if len(members) > _FEW:
            yield _joined_row(names.name, members)
        else:
            yield from members


def _joined_row(path: str, rows: Sequence[TraceRow]) -> TraceRow:
    """Return the statistics of all elements of tensors of one size."""
    mean = sum(row.mean for row in rows) / len(rows)
    square = sum(row.std * row.std + (row.mean - mean) * (row.mean - mean) for row in rows) / len(rows)
    return replace(
        rows[0],
        path=path,
        mean=mean,
        std=math.sqrt(square),
        min=-_most(-row.min for row in rows),
        max=_most(row.max for row in rows),
        absmax=_most(row.absmax for row in rows),
        array=None,
    )


def _most(values: Iterable[float]) -> float:
    """Return the largest value, or NaN if any is."""
    numbers = list(values)
    return math.nan if any(map(math.isnan, numbers)) else max(numbers)
