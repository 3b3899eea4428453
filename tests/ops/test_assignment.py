"""Optimal assignment: against all permutations, and what it refuses."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from netcalc.opdef import Context
from netcalc.ops.assignment import LinearSumAssignment
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute


@given(st.integers(1, 5), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_no_permutation_costs_less(rows: int, columns: int, maximize: bool, seed: int) -> None:
    costs = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    own, other = execute("linear_sum_assignment", {"maximize": maximize}, costs).outputs
    wide = costs if rows <= columns else costs.T
    totals = [
        sum(wide[n, c] for n, c in enumerate(order)) for order in permutations(range(max(rows, columns)), len(wide))
    ]
    assert costs[own, other].sum() == pytest.approx(max(totals) if maximize else min(totals), rel=1e-5)
    assert list(own) == sorted(set(own)) and len(set(other)) == len(other) == min(rows, columns)


def test_the_example_of_scipy() -> None:
    """The example of the documentation of scipy.optimize.linear_sum_assignment, whose optimum is 5."""
    costs = np.array([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]])
    own, other = execute("linear_sum_assignment", {}, costs).outputs
    assert (own.tolist(), other.tolist()) == ([0, 1, 2], [1, 0, 2])


@pytest.mark.parametrize(
    ("costs", "said"),
    [([[np.nan, 1.0]], "should be a number"), ([[np.inf, np.inf]], "no assignment"), ([[-np.inf, 0.0]], "number")],
)
def test_costs_without_an_assignment(costs: list[list[float]], said: str) -> None:
    with pytest.raises(RuleError, match=said):
        execute("linear_sum_assignment", {}, np.array(costs))


def test_types() -> None:
    op, queries = LinearSumAssignment(), symbol("queries")
    objects, _ = op.infer(Context(), TensorType((2, 10, queries)))
    assert str(objects.shape[-1]) == "min(10, queries)"
    with pytest.raises(RuleError, match="matrices"):
        op.infer(Context(), TensorType((4,)))
    with pytest.raises(RuleError):
        op.infer(Context(), TensorType((4, 4), "int64"))
