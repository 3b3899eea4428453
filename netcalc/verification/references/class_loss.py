"""References of :mod:`netcalc.ops.class_loss`, after torch.nn.functional."""

from __future__ import annotations

import math

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._reduction import indices, reduced
from netcalc.verification.references._sums import exact_sum


def _scores(x: Array, row: Shape, axis: int) -> list[float]:
    """Return the scores of the classes at a position."""
    return [float(x[(*row[:axis], c, *row[axis:])]) for c in range(x.shape[axis])]


def _log_softmax(scores: list[float]) -> list[float]:
    largest = max(scores)
    total = largest + math.log(exact_sum(math.exp(score - largest) for score in scores))
    return [score - total for score in scores]


@reference("nll_loss", "cross_entropy")
def classes(op: Attributes, x: Array, target: Array, weight: Array | None = None) -> Expected:
    axis = 1 if x.ndim > 1 else 0
    rows = (*x.shape[:axis], *x.shape[axis + 1 :])
    weights = [1.0] * x.shape[axis] if weight is None else [float(w) for w in weight]
    smoothing = op.label_smoothing if op.name == "cross_entropy" else 0.0
    by_probability = np.issubdtype(target.dtype, np.floating) or target.dtype.name == "bfloat16"

    def loss(row: Shape) -> float:
        scores = _scores(x, row, axis)
        logs = _log_softmax(scores) if op.name == "cross_entropy" else scores
        if by_probability:
            shares = _scores(target, row, axis)
        elif int(target[row]) == op.ignore_index:
            return 0.0
        else:
            shares = [float(c == int(target[row])) for c in range(len(scores))]
        shares = [(1 - smoothing) * share + smoothing / len(scores) for share in shares]
        return -exact_sum(w * s * log for w, s, log in zip(weights, shares, logs, strict=True) if s)

    def divisor() -> float:
        if by_probability:
            return float(math.prod(rows))
        chosen = (int(target[row]) for row in indices(rows))
        return exact_sum(weights[c] for c in chosen if c != op.ignore_index)

    return reduced(op.reduction, rows, x.dtype.name, loss, divisor, reads=x.shape[axis])
