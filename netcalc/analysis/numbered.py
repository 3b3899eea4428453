"""Names that differ by a number only, written once: ``past_key_values.0–31.key``."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from netcalc.analysis.folding import patterns, runs

_NUMBER = re.compile(r"^(.*?)\.(\d{1,9})(\..*)?$")

Item = TypeVar("Item", bound=Hashable)


class NumberedNames(NamedTuple):
    """Names with equal items: one, or those that differ by a number, ``members`` in order."""

    name: str
    members: tuple[str, ...]

    @property
    def times(self) -> int:
        """Number of names."""
        return len(self.members)


def fold_numbered(named: Iterable[tuple[str, Item]]) -> Iterator[tuple[NumberedNames, Item]]:
    """Yield names with their items; those that differ by a number, and have equal items, as one where the first is.

    >>> for names, item in fold_numbered([("x", 1), ("a.0.k", 2), ("a.0.v", 2), ("a.1.k", 2), ("a.1.v", 3)]):
    ...     print(names.name, names.times, item)
    x 1 1
    a.0–1.k 2 2
    a.0.v 1 2
    a.1.v 1 3
    """
    items = list(named)
    lists: dict[tuple[str, str, Item], list[int]] = {}
    for name, item in items:
        if (match := _NUMBER.match(name)) is not None:
            lists.setdefault((match[1], match[3] or "", item), []).append(int(match[2]))
    for name, item in items:
        match = _NUMBER.match(name)
        if match is None:
            yield NumberedNames(name, (name,)), item
            continue
        prefix, suffix = match[1], match[3] or ""
        for numbers in patterns(list(runs(lists.pop((prefix, suffix, item), [])))):
            members = tuple(f"{prefix}.{number}{suffix}" for number in numbers.each())
            yield NumberedNames(f"{prefix}.{numbers}{suffix}", members), item
