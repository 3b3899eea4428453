"""Random arrays for tests."""

from __future__ import annotations

import numpy as np


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normally distributed float32 values that depend on the seed only."""
    return np.asarray(np.random.default_rng(seed).normal(size=shape), np.float32)
