"""Products of scans in chunks against central differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import BackwardPass, central_differences


def ssd_arrays(groups: int, shared: int, length: int, absent: set[int]) -> list[Any]:
    heads = groups * shared
    shapes: list[Any] = [(2, length, heads, 2), (2, length, heads), (heads,)]
    shapes += [(2, length, groups, 3)] * 2 + [(heads,), (heads,), (2, heads, 2, 3)]
    arrays = [None if n in absent else normal(*shape, seed=n) for n, shape in enumerate(shapes)]
    arrays[2] = -np.abs(arrays[2])
    return arrays


def rule_arrays(groups: int, shared: int, length: int, start: bool) -> list[Any]:
    heads = groups * shared
    shapes: list[Any] = [(2, length, groups, 3)] * 2 + [(2, length, heads, 2)] + [(2, length, heads)] * 2
    arrays = [normal(*shape, seed=n) for n, shape in enumerate(shapes)]
    arrays[1], arrays[3] = arrays[1] / 4, -np.abs(arrays[3])
    return [*arrays, normal(2, heads, 3, 2, seed=9) if start else None]


@settings(max_examples=30, deadline=None)
@given(
    groups=st.integers(1, 2),
    shared=st.integers(1, 2),
    length=st.integers(1, 5),
    chunk=st.integers(1, 3),
    absent=st.sets(st.integers(5, 7)),
    softplus=st.booleans(),
    limits=st.sampled_from([(-9.0, None), (0.1, 0.9)]),
)
def test_ssd_scan(
    groups: int,
    shared: int,
    length: int,
    chunk: int,
    absent: set[int],
    softplus: bool,
    limits: tuple[float, float | None],
) -> None:
    attrs = {"chunk": chunk, "delta_softplus": softplus, "delta_min": limits[0], "delta_max": limits[1]}
    central_differences("ssd_scan", attrs, ssd_arrays(groups, shared, length, absent))


@settings(max_examples=30, deadline=None)
@given(
    groups=st.integers(1, 2),
    shared=st.integers(1, 2),
    length=st.integers(1, 5),
    chunk=st.integers(1, 3),
    start=st.booleans(),
    normalize=st.booleans(),
)
def test_gated_delta_rule(groups: int, shared: int, length: int, chunk: int, start: bool, normalize: bool) -> None:
    arrays = rule_arrays(groups, shared, length, start)
    central_differences("gated_delta_rule", {"chunk": chunk, "normalize": normalize}, arrays)


@pytest.mark.parametrize("name", ["ssd_scan", "gated_delta_rule"])
def test_every_pair_of_gradients(name: str) -> None:
    """Work that two gradients share is done once, and work that neither needs is left out."""
    arrays = ssd_arrays(1, 2, 4, set()) if name == "ssd_scan" else rule_arrays(1, 2, 4, start=True)
    passed = BackwardPass(operation(name, chunk=2), arrays, {})
    together = passed.product(passed.seeds())
    for used in ((True, True), (True, False), (False, True)):
        for one in passed.call.wanted:
            for other in passed.call.wanted:
                found = passed.product(passed.seeds(used), {one, other})
                if all(used):
                    np.testing.assert_allclose(found[one], together[one], rtol=1e-9, atol=1e-12)


def test_the_gradient_at_a_limit() -> None:
    """torch.clamp passes the gradient on at the limit itself."""
    arrays = ssd_arrays(1, 1, 2, {5, 6, 7})
    arrays[1] = np.array([0.5, 0.4, 0.6, 0.5]).reshape(2, 2, 1)
    op = operation("ssd_scan", chunk=2, delta_min=0.0, delta_max=0.5)
    passed = BackwardPass(op, arrays, {})
    found = passed.product(passed.seeds(), {1})[1].ravel()
    assert (found != 0).tolist() == [True, True, False, True]


def test_a_state_that_only_the_output_needs() -> None:
    """Without an initial state no product goes back from the first chunk, nor from a last state that is not used."""
    passed = BackwardPass(operation("gated_delta_rule", chunk=2), rule_arrays(1, 1, 4, start=False), {})
    work = passed.declared.cost(passed.op, replace(passed.call, given=(True, False)))
    counts = {term.role: term.count for term in work if term.kind == "mac"}
    assert counts["state, from prediction"] == counts["what is added, from state"] == 2 * 1 * 1 * 2 * 3 * 2
