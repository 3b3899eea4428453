"""Arrays for tests of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc import ops
from netcalc.numerics.kernels import Run, apply
from netcalc.opdef import Operation
from tests.ops.backward import BackwardPass


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normally distributed numbers in float64, the same for the same seed."""
    return np.random.default_rng(seed).normal(size=shape)


def operation(name: str, **attrs: Any) -> Operation:
    """Return an operation of these attributes."""
    declared = ops.find(name)
    assert declared is not None, name
    return declared(**attrs)


def symmetric_differences(name: str, matrix: np.ndarray, **attrs: Any) -> None:
    """Assert that the gradient by a symmetric matrix, of which a triangle is read, is a difference of outputs.

    It is compared along a symmetric direction.
    """
    op = operation(name, **attrs)
    passed = BackwardPass(op, [matrix], {})
    seeds = passed.seeds()
    direction = normal(*matrix.shape, seed=2)
    direction = direction + direction.swapaxes(-1, -2)
    predicted = np.sum(passed.product(seeds)[0] * direction)
    sides = [apply(op, Run(), (matrix + step * direction,), {}) for step in (1e-6, -1e-6)]
    changes = [np.sum(seed * (high - low)) for seed, high, low in zip(seeds, *sides, strict=True) if seed is not None]
    np.testing.assert_allclose(predicted, sum(changes) / 2e-6, rtol=1e-6)
