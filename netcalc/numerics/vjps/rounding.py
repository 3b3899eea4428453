"""Products of :mod:`netcalc.ops.rounding`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.vjps._elementwise import register_flat
from netcalc.numerics.vjps._pairs import Pair, Rule, register

register_flat("floor", "ceil", "round", "trunc")


def _remainder(quotient: Callable[[Array, Array], Array]) -> Rule:
    def rule(op: Any, pair: Pair) -> tuple[Array | None, Array | None]:
        by_left = pair.to_left(pair.gradient) if pair.wants_left else None
        if not pair.wants_right:
            return by_left, None
        return by_left, -pair.to_right(pair.gradient * quotient(*pair.operands()))

    return rule


register("remainder", _remainder(np.floor_divide))
register("fmod", _remainder(lambda a, b: np.trunc(a / b)))
