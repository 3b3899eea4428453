"""Adafactor, in the order of operations of torch.optim.Adafactor (``_single_tensor_adafactor``)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.training.formulas import States, lerp


def adafactor(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    """Return a parameter after a step; the mean squares of a matrix are kept by row and by column."""
    epsilon = float(np.finfo(parameter.dtype).eps)
    step = float(states.get("step", np.float32(0))) + 1
    states["step"] = np.asarray(step, np.float32)
    share = step ** settings["beta2_decay"]
    size = max(settings["eps2"], _root_mean_square(parameter)) * min(lr, 1 / math.sqrt(step))
    decay = settings["weight_decay"]
    shrunk = parameter * (1 - lr * decay) if decay else parameter
    square = _by_rows_and_columns if gradient.ndim > 1 else _by_element
    update = 1 / np.sqrt(np.maximum(square(gradient, states, share, epsilon), epsilon**2)) * gradient
    clipped = max(1.0, _root_mean_square(update) / settings["d"])
    updated: Array = shrunk + update * (-size / clipped)
    return updated


def _by_rows_and_columns(gradient: Array, states: States, share: float, epsilon: float) -> Array:
    """Return the estimate of the mean square of a gradient from the means of rows and columns."""
    for name, axis in (("row_var", -1), ("col_var", -2)):
        norm = np.sqrt(np.add.reduce(gradient * gradient, axis=axis, keepdims=True))
        mean = norm * norm / gradient.shape[axis]
        states[name] = lerp(states.get(name, np.zeros_like(mean)), mean, share)
    rows, columns = states["row_var"], states["col_var"]
    mean = np.add.reduce(rows, axis=-2, keepdims=True) / rows.shape[-2]
    estimate: Array = rows * columns / np.maximum(mean, epsilon)
    return estimate


def _by_element(gradient: Array, states: States, share: float, epsilon: float) -> Array:
    states["variance"] = lerp(states.get("variance", np.zeros_like(gradient)), gradient * gradient, share)
    return states["variance"]


def _root_mean_square(array: Array) -> float:
    return math.sqrt(float(np.add.reduce(array * array, axis=None))) / math.sqrt(array.size)
