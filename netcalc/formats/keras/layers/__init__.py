"""Layers and operations of Keras as operations of netcalc: one rule for each class.

A rule takes a :class:`~netcalc.formats.keras.call.Call`, adds lines to the graph and returns the result, a value with
the axes in the order of Keras or an operand, or a list of results.  It raises RuleError for what netcalc lacks.
Classes of ``keras.layers`` have their names, functions of ``keras.ops`` the names ``ops.Name`` of their classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netcalc.formats.graph.rules import Rules
from netcalc.formats.keras.call import Call

__all__ = ["Rule", "layer", "rule_of", "rules"]

#: A rule: the call that it translates.
Rule = Callable[[Call], Any]

_RULES = Rules(__name__, __path__)

#: Decorator that registers a rule for classes.
layer = _RULES.operator
#: Function that returns the rules by class.
rules = _RULES.all


def rule_of(name: str) -> Rule | None:
    """Return the rule of a class; None if there is none."""
    return rules().get(name)
