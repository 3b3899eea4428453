"""Further figures of points, from a CSV file of the user."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec.yaml_document import parse_scalar
from netcalc.sweep.plan import Plan


class Joined:
    """Figures of points by their values, from the rows of a file.

    Attributes:
        names: names of the figures: columns of numbers that the plan and the sweep do not have.
    """

    def __init__(self, path: str, plan: Plan, figures: Iterable[str]) -> None:
        """Read the file.

        Raises:
            NetcalcError: E004 for a file that cannot be read, E502 for one without a column of each range with several
                values, without a figure, or with two rows of the same values.
        """
        head, rows = _read(path)
        needed = [name for name, values in plan.ranges.items() if len(values) > 1] or [*plan.ranges]
        missing = [name for name in needed if name not in head]
        if missing:
            hint = f"its columns are {', '.join(head)}"
            raise NetcalcError(Diagnostic("E502", f"--join {path}: there is no column {missing[0]!r}", hint=hint))
        #: Columns by which rows are matched with points.
        self.keys = tuple(name for name in plan.names if name in head)
        others = [name for name in head if name not in plan.names and name not in figures]
        self.names = tuple(name for name in others if _are_numbers(rows, head.index(name)))
        if not self.names:
            raise NetcalcError(Diagnostic("E502", f"--join {path}: no column has figures that are numbers"))
        places = [head.index(name) for name in self.keys]
        of_figures = [head.index(name) for name in self.names]
        self._figures: dict[tuple[Any, ...], tuple[float | None, ...]] = {}
        for number, row in enumerate(rows, 2):
            key = tuple(_value(row[place]) for place in places)
            if key in self._figures:
                words = ", ".join(f"{name}={value}" for name, value in zip(self.keys, key, strict=True))
                message = f"--join {path}: row {number} has the values of an earlier one: {words}"
                raise NetcalcError(Diagnostic("E502", message))
            self._figures[key] = tuple(_number(row[place]) for place in of_figures)
        self._none = (None,) * len(self.names)
        #: Number of points that were found in the file.
        self.matched = 0

    def columns(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[float | None]]:
        """Return the figures of points, None where the file has none."""
        rows = []
        for key in zip(*(columns[name] for name in self.keys), strict=True):
            found = self._figures.get(tuple(map(_hashable, key)))
            self.matched += found is not None
            rows.append(self._none if found is None else found)
        listed = zip(*rows, strict=True) if rows else ((),) * len(self.names)
        return {name: list(values) for name, values in zip(self.names, listed, strict=True)}


def _read(path: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the rows of a file."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NetcalcError(Diagnostic("E004", f"--join {path}: {reason.lower()}")) from None
    if not rows:
        raise NetcalcError(Diagnostic("E502", f"--join {path}: the file is empty"))
    head = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(head):
            message = f"--join {path}: row {number} has {len(row)} values, and the head {len(head)}"
            raise NetcalcError(Diagnostic("E502", message))
    return head, rows[1:]


def _are_numbers(rows: Sequence[Sequence[str]], place: int) -> bool:
    try:
        return any(_number(row[place]) is not None for row in rows)
    except ValueError:
        return False


def _number(text: str) -> float | None:
    """Return a number, an integer where it is one; None for no value; ValueError for another text."""
    text = text.strip()
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        number = float(text)
        return None if number != number else number


def _value(text: str) -> Any:
    """Return a value as ``--set`` reads it."""
    return _hashable(parse_scalar(text))


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value
