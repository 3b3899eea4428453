"""Figures of points in columns: by closed forms where the form of the program is known, one by one elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.ir import Program
from netcalc.request import Request
from netcalc.spec.same_body import sketches_apart
from netcalc.spec.sketches import counts_in
from netcalc.sweep.columns import LEAST, Column, groups
from netcalc.sweep.families import Forms, Rest, Results


class Points:
    """Points of a request.

    Forms are made when enough points have the structure of one, and kept for later calls.

    Args:
        request: the source and its settings, which the values of the points replace.
        names: names of the dims and vars whose values are the columns.
        count: function that counts a program with symbols; None if there is none.
        single: function that counts a point of its own by its settings, and raises NetcalcError if it is refused.
    """

    def __init__(
        self,
        request: Request,
        names: tuple[str, ...],
        count: Callable[[Program], Sequence[Dim]] | None,
        single: Callable[[Mapping[str, Any]], tuple[int, ...]],
    ) -> None:
        self.names = names
        self._count_single = single
        self._forms = Forms(request, count) if may_have_forms(request) else None
        self._counts = counts_in(request.source.cursor.data)

    @property
    def by_forms(self) -> int:
        """Number of the points so far whose figures a closed form gave."""
        return 0 if self._forms is None else self._forms.evaluated

    def fill(self, values: Sequence[Any], results: Results, rest: Rest | None = None) -> None:
        """Write the figures of points, and the reasons of those that are refused.

        Args:
            values: a list or an array of NumPy for each name.
            results: where they are written.
            rest: takes the points for which no form pays, in place of counting each of them.
        """
        size = len(values[0])
        if self._forms is None:
            for place in range(size):
                self.single(values, place, results)
            return

        def single(place: int) -> tuple[int, ...] | None:
            return self.single(values, place, results)

        taken = [
            Column(name, listed, 1 if name in self._counts else LEAST)
            for name, listed in zip(self.names, values, strict=True)
        ]
        for group in groups(taken, values, size):
            self._forms.evaluate(group, self.settings(values, int(group.places[0])), single, results, rest)

    def settings(self, values: Sequence[Any], place: int) -> dict[str, Any]:
        """Return the values of a point by name."""
        return {name: _plain(listed[place]) for name, listed in zip(self.names, values, strict=True)}

    def single(self, values: Sequence[Any], place: int, results: Results) -> tuple[int, ...] | None:
        """Count one point as a network of its own, and return its figures; None if the spec refuses it."""
        try:
            with sketches_apart():
                figures = self._count_single(self.settings(values, place))
        except NetcalcError as error:
            results.reasons[place] = reason(error.diagnostics[0])
            return None
        results.put(place, figures)
        return figures


def _plain(value: Any) -> Any:
    """Return a value of a column as a Python value."""
    return value.item() if hasattr(value, "dtype") else value


def may_have_forms(request: Request) -> bool:
    """Return False for a request whose programs are changed after their elaboration."""
    source = request.source
    changed = request.lora, request.quantize, request.prune, request.sizes, request.symbolic, request.constants
    return not any(changed) and not source.storage.rules and not source.storage.unsettled


def reason(problem: Diagnostic) -> str:
    """Return a diagnostic in a line, without the remark that a value is given."""
    return f"{problem.code}: {' '.join(problem.message.split())}".replace(" (--set)", "")
