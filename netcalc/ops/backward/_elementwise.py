"""Backward passes of functions of each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from netcalc.opdef import Term
from netcalc.ops._elementwise import Work, terms
from netcalc.ops.backward import BACKWARD, Backward, BackwardCall, Saved

__all__ = ["declare"]

_Kept = Literal["self", "result", None]


class _Elementwise(Backward):
    """∂L/∂x = ∂L/∂y · f′(x): work per element, and the one tensor that is saved."""

    def __init__(self, derivative: str, work: Work | Callable[[Any], Work], saves: Callable[[Any], _Kept]) -> None:
        self.rule = (f"∂L/∂x = {derivative}",)
        self._work = work
        self._saves = saves

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        kept = self._saves(op)
        if kept is None:
            return ()
        return (call.saved_input("self") if kept == "self" else call.saved_output("result"),)

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        work = self._work(op) if callable(self._work) else self._work
        return terms(work, "gradient", elements=call.input().elements)


def declare(
    *names: str,
    derivative: str,
    work: Work | Callable[[Any], Work],
    saves: _Kept | Callable[[Any], _Kept],
) -> None:
    """Declare the backward pass of functions of each element.

    Args:
        names: the operations.
        derivative: the formula of ∂L/∂x, in g = ∂L/∂y, x and y.
        work: the work per element, or a function of the attributes that returns it.
        saves: ``"self"`` for the input, ``"result"`` for the output, None for nothing, or a function of the attributes.
    """
    kept = saves if callable(saves) else (lambda op: saves)
    BACKWARD.register(*names)(_Elementwise(derivative, work, kept))
