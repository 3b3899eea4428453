"""Products of :mod:`netcalc.ops.arithmetic`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._elementwise import zeros
from netcalc.numerics.vjps._pairs import Pair, Rule, combined, register
from netcalc.ops.arithmetic import Div, Pow


def _add(op: Any, pair: Pair) -> tuple[Array | None, Array | None]:
    return (
        pair.to_left(pair.gradient) if pair.wants_left else None,
        pair.to_right(pair.gradient) if pair.wants_right else None,
    )


def _sub(op: Any, pair: Pair) -> tuple[Array | None, Array | None]:
    left, right = _add(op, pair)
    return left, None if right is None else -right


def _mul(op: Any, pair: Pair) -> tuple[Array | None, Array | None]:
    return (
        pair.to_left(pair.gradient * pair.working(pair.right)) if pair.wants_left else None,
        pair.to_right(pair.gradient * pair.working(pair.left)) if pair.wants_right else None,
    )


def _div(op: Div, pair: Pair) -> tuple[Array | None, Array | None]:
    if not pair.wants_right:
        return pair.to_left(pair.gradient / pair.working(pair.right)), None
    left, right = pair.operands(rounds=op.rounds_number)
    over: Array = pair.gradient / right
    by_right = -pair.to_right(over * (left / right))
    return pair.to_left(over) if pair.wants_left else None, by_right


def _pow(op: Pow, pair: Pair) -> tuple[Array | None, Array | None]:
    by_base = _by_base(op, pair) if pair.wants_left else None
    by_exponent = _by_exponent(op, pair) if pair.wants_right else None
    return by_base, by_exponent


def _by_base(op: Pow, pair: Pair) -> Array:
    g = pair.gradient
    if op.value is None:
        base, exponent = pair.operands()
        slope = exponent * np.power(base, exponent - 1)
        return pair.to_left(select(exponent == 0, 0, g * slope))
    if op.value == 0:
        return np.zeros_like(g)
    if op.value == 1:
        return g
    base = wide(pair.left)
    power = reduce(np.multiply, [base] * int(op.value - 1)) if op.value in (2, 3) else np.power(base, op.value - 1)
    by_base: Array = g * (op.value * power)
    return by_base


def _by_exponent(op: Pow, pair: Pair) -> Array:
    assert pair.result is not None
    result = wide(pair.result)
    if op.value is not None:
        slope = result * float(np.log(op.value))
        return pair.gradient * (slope if op.value else select(wide(pair.right) >= 0, 0, slope))
    base, exponent = pair.operands()
    constant = np.logical_and(base == 0, exponent >= 0)
    return pair.to_right(pair.gradient * select(constant, 0, result * np.log(base)))


def _extreme(left_loses: Callable[..., Any], right_loses: Callable[..., Any]) -> Rule:
    def rule(op: Any, pair: Pair) -> tuple[Array | None, Array | None]:
        left, right = pair.operands()
        shared = select(left == right, pair.gradient / 2, pair.gradient)
        return (
            pair.to_left(select(left_loses(left, right), 0, shared)) if pair.wants_left else None,
            pair.to_right(select(right_loses(left, right), 0, shared)) if pair.wants_right else None,
        )

    return rule


register("add", _add)
register("sub", _sub)
register("mul", _mul)
register("pow", _pow, names=("self", "exponent"))
register("minimum", _extreme(np.greater, np.less))
register("maximum", _extreme(np.less, np.greater))


@vjp("div")
def div(op: Div, back: Back, gradient: Array) -> Gradients:
    return combined(op, back, gradient, _div) if op.rounding is None else zeros(back, gradient)
