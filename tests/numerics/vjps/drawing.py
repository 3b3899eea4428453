"""Arrays for tests of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc import ops
from netcalc.opdef import Operation


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normally distributed numbers in float64, the same for the same seed."""
    return np.random.default_rng(seed).normal(size=shape)


def operation(name: str, **attrs: Any) -> Operation:
    """Return an operation of these attributes."""
    declared = ops.find(name)
    assert declared is not None, name
    return declared(**attrs)
