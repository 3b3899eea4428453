"""Kernels of :mod:`netcalc.ops.assignment`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.ops.assignment import LinearSumAssignment


@kernel("linear_sum_assignment")
def linear_sum_assignment(op: LinearSumAssignment, run: Run, costs: Array) -> tuple[Array, Array]:
    values = np.asarray(wide(costs), np.float64)
    values = -values if op.maximize else values
    *batch, rows, columns = values.shape
    fewer = min(rows, columns)
    found = np.empty((2, math.prod(batch), fewer), np.int64)
    for number, matrix in enumerate(values.reshape(-1, rows, columns)):
        if np.isnan(matrix).any() or np.isneginf(matrix).any():
            raise RuleError("a cost should be a number, and one is not", code="E602")
        if rows <= columns:
            found[:, number] = np.arange(rows), _columns_of(matrix)
        else:
            chosen = _columns_of(matrix.T)
            order = np.argsort(chosen)
            found[:, number] = chosen[order], order
    scanned = math.prod(batch) * rows * columns * (fewer + 1) // 2
    run.note("add", 3 * scanned)
    run.note("compare", 2 * scanned)
    own, other = found.reshape(2, *batch, fewer)
    return own, other


def _columns_of(costs: np.ndarray) -> np.ndarray:
    """Return the column of each row; there are at least as many columns.

    Rows are added one by one.  A shortest path of reduced costs, c − u − v ≥ 0, leads from the new row to a column that
    is free; along it the pairs change, and the prices u and v make the costs of all pairs 0 again.
    """
    rows, columns = costs.shape
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    for new in range(rows):
        distance, before, reached = np.full(columns, np.inf), np.full(columns, -1), np.zeros(columns, bool)
        row, length, seen = new, 0.0, []
        while True:
            seen.append(row)
            through = length + (costs[row] - row_price[row] - column_price)
            better = ~reached & (through < distance)
            distance[better], before[better] = through[better], row
            length = distance[~reached].min(initial=np.inf)
            if length == np.inf:
                raise RuleError("the costs leave no assignment: too many of them are infinite", code="E602")
            nearest = ~reached & (distance == length)
            free = nearest & (row_of < 0)
            column = int(np.argmax(free if free.any() else nearest))
            reached[column] = True
            if row_of[column] < 0:
                break
            row = int(row_of[column])
        row_price[new] += length
        others = np.array(seen[1:], int)
        row_price[others] += length - distance[column_of[others]]
        column_price[reached] -= length - distance[reached]
        while True:
            row = int(before[column])
            row_of[column] = row
            column_of[row], column = column, int(column_of[row])
            if row == new:
                break
    return column_of
