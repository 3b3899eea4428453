"""Muon, in the order of operations of torch.optim.Muon (``_single_tensor_muon``)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import ml_dtypes
import numpy as np

from netcalc.arrays import Array
from netcalc.training.formulas import States, lerp

#: Coefficients of the quintic iteration.
_A, _B, _C = 3.4445, -4.7750, 2.0315
#: Factor that gives updates the root mean square of those of AdamW.
_ADAMW = 0.2


def muon(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    """Return a matrix after a step."""
    momentum, previous = settings["momentum"], states.get("momentum_buffer", np.zeros_like(gradient))
    states["momentum_buffer"] = lerp(previous, gradient, 1 - momentum)
    update = lerp(gradient, states["momentum_buffer"], momentum)
    update = _orthogonal(update, int(settings["ns_steps"]), settings["eps"]).astype(parameter.dtype)
    shrunk = parameter * (1 - lr * settings["weight_decay"])
    rows, columns = parameter.shape
    scale = _ADAMW * math.sqrt(max(rows, columns)) if settings["match_rms"] else math.sqrt(max(1, rows / columns))
    updated: Array = shrunk + update * (-lr * scale)
    return updated


def _orthogonal(matrix: Array, steps: int, epsilon: float) -> Array:
    """Return a matrix with its singular values near 1, by Newton and Schulz's iteration in bfloat16."""
    x = _bfloat16(matrix)
    wide = matrix.shape[0] <= matrix.shape[1]
    x = x if wide else x.T
    norm = _bfloat16(np.array(math.sqrt(float(np.add.reduce(x * x, axis=None))), np.float32))
    x = _bfloat16(x / max(float(norm), epsilon))
    for _ in range(steps):
        gram = _bfloat16(np.matmul(x, x.T))
        step = _bfloat16(gram * np.float32(_B) + np.matmul(gram, gram) * np.float32(_C))
        x = _bfloat16(x * np.float32(_A) + np.matmul(step, x))
    return x if wide else x.T


def _bfloat16(array: Array) -> Array:
    """Return numbers rounded to bfloat16, as float32."""
    rounded: Array = array.astype(ml_dtypes.bfloat16).astype(np.float32)
    return rounded
