"""A random generator for comparisons, by which operations drop the same elements in every call."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.numerics.generators import generator


class SameDraws(np.random.Generator):
    """A generator by which operations that drop keep the elements for which ``bernoulli`` with this seed draws 1."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed = seed

    def random(self, *args: Any, **kwargs: Any) -> Any:
        """Return numbers at least p where those of ``bernoulli`` are below 1 − p, the same in every call."""
        return 1 - generator(self._seed, "/bernoulli").random(*args, **kwargs)
