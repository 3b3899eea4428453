"""Reduction of losses, as in torch.nn.functional."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from netcalc.verification.references import Expected, Shape, Value
from netcalc.verification.references._sums import exact_sum


def indices(shape: Shape) -> Iterator[Shape]:
    """Yield the indices of a shape in row-major order."""
    return product(*map(range, shape))


def reduced(
    reduction: str, shape: Shape, dtype: str, loss: Callable[[Shape], Any], divisor: Callable[[], Any], reads: int = 1
) -> Expected:
    """Return the output of a loss with a number or Value for each index of a shape; a mean divides by ``divisor``."""
    if reduction == "none":
        return Expected(shape, dtype, loss, reads)

    def at(_: Shape) -> Value:
        elements = [loss(index) for index in indices(shape)]
        losses = [term if isinstance(term, Value) else Value(float(term), abs(float(term))) for term in elements]
        by = 1.0 if reduction == "sum" else float(divisor())
        total, magnitude = exact_sum(term.value for term in losses), exact_sum(term.magnitude for term in losses)
        if by == 0:
            return Value(math.copysign(math.inf, total) if total else math.nan, 0)
        return Value(total / by, magnitude / abs(by))

    return Expected((), dtype, at, reads * math.prod(shape))
