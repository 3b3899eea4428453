"""Selection of rows for a report: ``--filter``, ``--sort`` and ``--top``.

Rows are selected as typed items, before a table or a JSON record is built from them, so that all formats agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Poly, UndecidedError

Item = TypeVar("Item")


class Selected(NamedTuple, Generic[Item]):
    """The rows of a report in order, and the rows left out."""

    shown: Sequence[Item]
    others: Sequence[Item] = ()


class Selection(NamedTuple):
    """Options that select rows: patterns for names, the column to sort by, and the number of rows."""

    sort: str | None = None
    top: int | None = None
    patterns: Sequence[str] = ()

    @property
    def active(self) -> bool:
        """True if rows are filtered, sorted or limited."""
        return self.sort is not None or self.top is not None or bool(self.patterns)

    def check(self, keys: Iterable[str]) -> None:
        """Raise NetcalcError (E502) if ``--sort`` names none of the keys."""
        keys = list(keys)
        if self.sort is not None and self.sort not in keys:
            hint = did_you_mean(self.sort, keys) or f"known here: {', '.join(keys)}"
            raise NetcalcError(Diagnostic("E502", f"--sort {self.sort}: there is no such figure or column", hint=hint))

    def apply(
        self,
        items: Iterable[Item],
        keys: Mapping[str, Callable[[Item], Any]],
        names: Callable[[Item], Sequence[str]] = attrgetter("path", "op"),
    ) -> Selected[Item]:
        """Select from ``items``.

        Args:
            items: rows in the order of the report.
            keys: the columns to sort by; numbers are sorted from the largest to the smallest, text alphabetically.
            names: the names of an item that patterns are matched with, its path first.

        Raises:
            NetcalcError: E502 for an unknown key, E503 for every pattern that matches nothing.
        """
        self.check(keys)
        rows = list(items)
        shown = rows
        if self.patterns:
            _check_patterns(self.patterns, [names(item) for item in rows])
            shown = [item for item in rows if any(fnmatchcase(name, p) for name in names(item) for p in self.patterns)]
        if self.sort is not None:
            key = keys[self.sort]
            shown = sorted(shown, key=lambda item: _rank(key(item)))
        if self.top is not None:
            shown = shown[: self.top]
        if len(shown) == len(rows):
            return Selected(shown)
        selected = {id(item) for item in shown}
        return Selected(shown, [item for item in rows if id(item) not in selected])


def keys_of(*fields: str) -> dict[str, Callable[[Any], Any]]:
    """Return sort keys that read attributes of these names."""
    return {field: attrgetter(field) for field in fields}


def _rank(value: Any) -> tuple[int, Any]:
    """Sort key of a value: numbers from the largest to the smallest, then text alphabetically, then missing values."""
    if isinstance(value, Poly):
        try:
            value = value.at({})  # at the default sizes
        except UndecidedError:
            value = None
    if isinstance(value, (int, float)):
        return (2, 0) if value != value else (0, -value)
    return (2, 0) if value is None else (1, str(value))


def _check_patterns(patterns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Raise NetcalcError (E503) with every pattern that matches no name of any row."""
    problems = []
    all_names = dict.fromkeys(name for names in rows for name in names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in all_names):
            hint = did_you_mean(pattern, all_names) or "a pattern may have *, as in 'layer1.*' or '*conv*'"
            problems.append(Diagnostic("E503", f"--filter {pattern}: no row has a name that matches", hint=hint))
    if problems:
        raise NetcalcError(problems)
