"""Backward passes of functions of each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from netcalc.opdef import Term
from netcalc.ops._elementwise import Work, terms
from netcalc.ops.backward import BACKWARD, Backward, BackwardCall, Saved

_Kept = Literal["self", "result", None]


class _Elementwise(Backward):
    """∂L/∂x = ∂L/∂y · f′(x): work per element, and the one tensor that is saved."""

    def __init__(
        self, derivative: Callable[[Any], str], work: Callable[[Any], Work], saves: Callable[[Any], _Kept]
    ) -> None:
        self._derivative = derivative
        self._work = work
        self._saves = saves

    def derivatives(self, op: Any) -> tuple[str, ...]:
        return (f"∂L/∂x = {self._derivative(op)}",)

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        saved = self._saves(op)
        if saved is None:
            return ()
        return (call.saved_input("self") if saved == "self" else call.saved_output("result"),)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return terms(self._work(op), "gradient", elements=call.input().elements)


def declare(
    *names: str,
    derivative: str | Callable[[Any], str],
    work: Work | Callable[[Any], Work],
    saves: _Kept | Callable[[Any], _Kept],
) -> None:
    """Declare the backward pass of functions of each element.

    Args:
        names: the operations.
        derivative: the formula of ∂L/∂x, in g = ∂L/∂y, x and y, or a function of the attributes that returns it.
        work: the work per element, or a function of the attributes that returns it.
        saves: ``"self"`` for the input, ``"result"`` for the output, None for nothing, or a function of the attributes.
    """
    formula = derivative if callable(derivative) else (lambda op: derivative)
    per_element = work if callable(work) else (lambda op: work)
    saves_of = saves if callable(saves) else (lambda op: saves)
    BACKWARD.register(*names)(_Elementwise(formula, per_element, saves_of))


def declare_flat(*names: str) -> None:
    """Declare functions that are constant between jumps: their derivative is 0."""
    declare(*names, derivative="0", work={}, saves=None)
