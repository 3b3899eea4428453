"""Products of operations that combine operands from left to right, two at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels.arithmetic import alike
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.arithmetic import Combination


@dataclass(slots=True)
class Pair:
    """A stage: the gradient of its result, the two operands, and which gradients are wanted.

    An operand is a number, an array, or None if it was not saved.
    """

    gradient: Array
    left: Any
    right: Any
    wants_left: bool
    wants_right: bool
    left_shape: tuple[int, ...]
    right_shape: tuple[int, ...]
    #: The output of the operation, if it was saved.
    result: Array | None

    def working(self, operand: Any) -> Any:
        """Return an operand in the precision of its arithmetic; a number as it is."""
        return wide(operand) if isinstance(operand, np.ndarray) else operand

    def operands(self, *, rounds: bool = True) -> tuple[Array, Array]:
        """Return both operands in the type of the computation, numbers rounded as by ``alike``."""
        left, right, _ = alike(self.left, self.right, rounds=rounds)
        return left, right

    def to_left(self, gradient: Array) -> Array:
        """Return a gradient summed to the shape of the left operand."""
        return summed_to(gradient, self.left_shape)

    def to_right(self, gradient: Array) -> Array:
        """Return a gradient summed to the shape of the right operand."""
        return summed_to(gradient, self.right_shape)


#: Return the gradients of the left and the right operand of a stage, None for one that is not wanted.
Rule: TypeAlias = Callable[[Any, Pair], tuple[Array | None, Array | None]]


def register(name: str, rule: Rule, names: tuple[str, str] = ("self", "other")) -> None:
    """Register the product of an operation from the rule of one stage, and the names of its saved tensors."""

    @vjp(name)
    def product(op: Combination, back: Back, gradient: Array) -> Gradients:
        return combined(op, back, gradient, rule, names)


def combined(
    op: Combination, back: Back, gradient: Array, rule: Rule, names: tuple[str, str] = ("self", "other")
) -> Gradients:
    """Return the gradients of all operands, from the last stage to the first."""
    operands: list[int | None] = [n for n, type_ in enumerate(back.inputs) if type_ is not None]
    number = next(iter(op.numbers()), None)
    operands += [None for _ in op.numbers()]
    if op.swaps:
        operands.reverse()
    shapes = [() if n is None else back.shape(n) for n in operands]
    wanted = [n is not None and back.wants(n) for n in operands]
    gradients: Gradients = {}
    g: Array | None = wide(gradient)
    for stage in range(len(operands) - 2, -1, -1):
        wants_left, wants_right = any(wanted[: stage + 1]), wanted[stage + 1]
        if g is None or not (wants_left or wants_right):
            break
        suffix = str(stage) if stage else ""
        left, right = (back.saved.get(name + suffix) for name in names)
        pair = Pair(
            g,
            number if stage == 0 and operands[0] is None else left,
            number if operands[stage + 1] is None else right,
            wants_left,
            wants_right,
            np.broadcast_shapes(*shapes[: stage + 1]),
            shapes[stage + 1],
            back.saved.get("result"),
        )
        g, by_right = rule(op, pair)
        position = operands[stage + 1]
        if position is not None and by_right is not None:
            gradients[position] = by_right
    first = operands[0]
    if first is not None and wanted[0] and g is not None:
        gradients[first] = g
    return gradients
