"""NumPy's product of large square matrices, the unit of all speeds; the same for every case."""

from __future__ import annotations

import numpy as np
from models import Case

from engines import Arrays, Runner

SIZE = 2048
FLOPS = 2 * SIZE**3


def load(case: Case, threads: int) -> Runner:
    """Return the product; the case is ignored."""
    first, second = np.random.default_rng(0).random((2, SIZE, SIZE), dtype=np.float32)
    product = np.empty_like(first)  # otherwise the time would include allocation

    def run(inputs: Arrays) -> Arrays:
        np.matmul(first, second, out=product)
        return {}

    return run
