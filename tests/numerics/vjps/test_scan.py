"""Products of scans against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.vjps.drawing import normal
from tests.ops.backward import central_differences

KINDS = ["fixed", "selective", "groups"]


@settings(max_examples=40, deadline=None)
@given(
    groups=st.integers(1, 2),
    shared=st.integers(1, 2),
    length=st.integers(1, 4),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    absent=st.sets(st.integers(5, 8)),
    softplus=st.booleans(),
)
def test_selective_scan(
    groups: int, shared: int, length: int, kinds: tuple[str, str], absent: set[int], softplus: bool
) -> None:
    batch, channels, size = 2, groups * shared, 3
    projections = {
        "fixed": (channels, size),
        "selective": (batch, length, size),
        "groups": (batch, length, groups, size),
    }
    shapes: list[Any] = [(batch, channels, length)] * 2 + [(channels, size)] + [projections[kind] for kind in kinds]
    shapes += [(channels,), (batch, channels, length), (channels,), (batch, channels, size)]
    arrays = [None if n in absent else normal(*shape, seed=n) for n, shape in enumerate(shapes)]
    central_differences("selective_scan", {"delta_softplus": softplus}, arrays)


@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 2), length=st.integers(1, 5), channels=st.integers(1, 3), seed=st.integers(0, 9))
def test_wkv(batch: int, length: int, channels: int, seed: int) -> None:
    arrays = wkv_inputs(batch, length, channels, seed)
    central_differences("wkv", {}, arrays[:4])


@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 2), length=st.integers(1, 5), channels=st.integers(1, 3), seed=st.integers(0, 9))
def test_wkv_after_earlier_positions(batch: int, length: int, channels: int, seed: int) -> None:
    central_differences("wkv", {}, wkv_inputs(batch, length, channels, seed))


def wkv_inputs(batch: int, length: int, channels: int, seed: int) -> list[Any]:
    """Return all inputs of wkv; the sum of the weights of earlier positions is positive."""
    shapes = [(batch, length, channels)] * 2 + [(channels,)] * 2 + [(batch, channels)] * 3
    arrays = [normal(*shape, seed=7 * seed + n) for n, shape in enumerate(shapes)]
    arrays[2], arrays[5] = -np.exp(arrays[2]), np.exp(arrays[5])
    return list(arrays)


def test_wkv_with_large_keys() -> None:
    """Exponents whose exponentials overflow change nothing: only their differences count."""
    arrays = [normal(1, 4, 2, seed=n) for n in range(2)]
    arrays[0] = arrays[0] + 800
    central_differences("wkv", {}, [*arrays, np.array([-0.5, -0.1]), normal(2)])
