"""What everything is measured by: NumPy's product of large square matrices, whatever the case."""

from __future__ import annotations

import numpy as np
from models import Case

from engines import Arrays, Runner

SIZE = 2048
FLOPS = 2 * SIZE**3


def load(case: Case, threads: int) -> Runner:
    first, second = np.random.default_rng(0).random((2, SIZE, SIZE), dtype=np.float32)
    product = np.empty_like(first)  # new memory every time would be part of the time

    def run(inputs: Arrays) -> Arrays:
        np.matmul(first, second, out=product)
        return {}

    return run
