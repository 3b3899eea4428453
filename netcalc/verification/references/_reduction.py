"""Reduction of losses, as in torch.nn.functional."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from netcalc.verification.references import Expected, Shape, Value


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
        losses = [
            loss_value if isinstance(loss_value, Value) else Value(float(loss_value), abs(float(loss_value)))
            for loss_value in elements
        ]
        by = 1.0 if reduction == "sum" else float(divisor())
        if by == 0:
            return Value(math.nan, 0)
        return Value(
            math.fsum(loss_value.value for loss_value in losses) / by,
            math.fsum(loss_value.magnitude for loss_value in losses) / abs(by),
        )

    return Expected((), dtype, at, reads * math.prod(shape))
