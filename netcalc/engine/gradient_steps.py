"""Norms of the gradients of inputs by step of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from netcalc.analysis.signal.time_axis import steps_of
from netcalc.analysis.signal.trunk import graph_of
from netcalc.arrays import Array
from netcalc.ir import Program
from netcalc.results import Real


class InputSteps(NamedTuple):
    """The gradient of an input by step of time."""

    name: str
    norms: tuple[Real, ...]
    """Norms, from the first step to the last."""


def input_steps(program: Program, inputs: Mapping[str, Array]) -> tuple[InputSteps, ...]:
    """Return the norms by step of the gradients of inputs that have the steps of recurrent layers or attention."""
    time = steps_of(graph_of(program)) if inputs else None
    if time is None:
        return ()
    return tuple(
        InputSteps(name, tuple(by_step(array, time.axis).tolist()))
        for name, array in inputs.items()
        if array.ndim > max(time.axis, -1 - time.axis) and array.shape[time.axis] == time.steps
    )


def by_step(array: Array, axis: int, *, mean: bool = False) -> Array:
    """Return the norm at each index of an axis, or the root mean square."""
    with np.errstate(all="ignore"):  # infinities are values
        squares = np.moveaxis(np.asarray(array, np.float64), axis, 0).reshape(array.shape[axis], -1) ** 2
        found: Array = np.sqrt(squares.mean(axis=1) if mean else squares.sum(axis=1))
    return found
