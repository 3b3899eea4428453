"""The engines, one module each.

``load(case, threads)`` of a module returns the timed function from inputs to outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

__all__ = ["Arrays", "Runner"]

Arrays: TypeAlias = dict[str, np.ndarray]
Runner: TypeAlias = Callable[[Arrays], Arrays]
