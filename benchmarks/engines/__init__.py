"""The engines.

Each file imports what its engine is made of, and has ``load(case, threads)``, which gives the function from inputs to
outputs that is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

__all__ = ["Arrays", "Runner"]

Arrays: TypeAlias = dict[str, np.ndarray]
Runner: TypeAlias = Callable[[Arrays], Arrays]
