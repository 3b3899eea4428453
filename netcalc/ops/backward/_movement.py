"""Backward passes of operations that move elements: the gradients move back, and nothing is saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.backward import BACKWARD, Backward, BackwardCall


class Moved(Backward):
    """The base of backward passes without arithmetic."""

    def __init__(self, *rule: str) -> None:
        self.rule = rule or self.rule

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        return ()


def moved(*names: str, rule: str) -> None:
    """Declare the backward pass of operations whose gradients move back to where the elements came from."""
    BACKWARD.register(*names)(Moved(rule))
