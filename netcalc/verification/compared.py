"""Counts and gaps of comparisons by value, in which each distinct operation of a program is compared once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.ir import OpNode
from netcalc.verification.report import Gap, InstanceCheck, ValueCount


class Comparison(Protocol):
    """Comparison of each operation as it is executed."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Properties that were not compared."""

    def checks(
        self, instance: Instance, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> Iterable[InstanceCheck]:
        """Return the checks of an operation on these arrays; none if it was compared before."""


class Compared:
    """Base of comparisons of every distinct operation of a program; repeats are compared once."""

    def __init__(self) -> None:
        self._seen: set[OpNode] = set()
        self._counts: dict[str, ValueCount] = {}
        self._gaps: dict[Gap, None] = {}

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Gaps in order of execution."""
        return tuple(self._gaps)

    @property
    def counts(self) -> tuple[ValueCount, ...]:
        """The operations and values compared, by kind of operation."""
        return tuple(self._counts.values())

    def is_new(self, node: OpNode) -> bool:
        """Return True at the first call for an operation."""
        new = node not in self._seen
        self._seen.add(node)
        return new

    def leave_out(self, what: str, reason: str) -> None:
        """Note what is not compared."""
        self._gaps[Gap(what, reason)] = None

    def count(self, name: str, values: int, *, different: bool) -> None:
        """Count an operation of this name."""
        before = self._counts.get(name, ValueCount(name, 0, 0, 0))
        self._counts[name] = ValueCount(
            name, before.operations + 1, before.values + values, before.different + different
        )
