"""Planned run of a single operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netcalc.engine.plan import Plan
from netcalc.engine.runtime.session import Session
from netcalc.ir import Program
from netcalc.opdef import Param

__all__ = ["planned"]


class _ArrayParameters:
    """Parameters in memory, by their names in the operation."""

    seed = 0

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._weights = weights

    def fetch(self, instance: Any, param: Param) -> np.ndarray:
        return self._weights[param.name]

    def write(self, instance: Any, param: Param, out: np.ndarray) -> None:
        out[...] = self._weights[param.name]


def planned(
    program: Program, arrays: Sequence[np.ndarray | None], weights: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """Return the outputs of a program of one operation, planned for two threads."""
    parameters: Any = _ArrayParameters(weights)
    return Session(Plan(program, 2), parameters)([array for array in arrays if array is not None])
