"""References of :mod:`netcalc.ops.assignment`: shortest alternating paths by relaxation, without prices."""

from __future__ import annotations

import math
from functools import cache

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("linear_sum_assignment")
def linear_sum_assignment(op: Attributes, costs: Array) -> tuple[Expected, Expected]:
    *batch, rows, columns = costs.shape
    pairs = min(rows, columns)

    @cache
    def matched(place: Shape) -> list[tuple[int, int]]:
        sign = -1.0 if op.maximize else 1.0
        matrix = [[sign * float(cost) for cost in row] for row in costs[place]]
        if rows <= columns:
            return sorted((row, column) for column, row in _rows_of(matrix).items())
        turned = [list(column) for column in zip(*matrix, strict=True)]
        return sorted(_rows_of(turned).items())

    def side(number: int) -> Expected:
        def at(index: Shape) -> int:
            return matched(index[:-1])[index[-1]][number]

        return Expected((*batch, pairs), "int64", at, rows * columns)

    return side(0), side(1)


def _rows_of(costs: list[list[float]]) -> dict[int, int]:
    """Return the row of each column that has one, for a matrix with at least as many columns as rows."""
    found: dict[int, int] = {}
    for new, own in enumerate(costs):
        distance, before = list(own), [new] * len(own)
        changed = True
        while changed:
            changed = False
            for column, row in found.items():
                for other, cost in enumerate(costs[row]):
                    length = distance[column] - costs[row][column] + cost
                    if length < distance[other] - 1e-12 * max(1.0, abs(length)):
                        distance[other], before[other], changed = length, row, True
        column = min((c for c in range(len(own)) if c not in found), key=distance.__getitem__)
        assert math.isfinite(distance[column])
        held = {row: column for column, row in found.items()}
        while True:
            row = before[column]
            found[column] = row
            if row == new:
                break
            column = held[row]
    return found
