"""Operators of ONNX as operations of netcalc: one rule for each, which knows all its versions.

A rule takes a :class:`~netcalc.formats.onnx.call.Call`, adds lines to the graph and returns the value of the result,
or a list of values.  It raises RuleError for what netcalc cannot express.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netcalc.formats.graph.rules import Rules
from netcalc.formats.onnx.call import Call

__all__ = ["Rule", "operator", "rule_of", "rules"]

#: A rule: the call that it translates.
Rule = Callable[[Call], Any]

_RULES = Rules(__name__, __path__)

#: Decorator that registers a rule for operators, those of other domains as ``domain.Name``.
operator = _RULES.operator
#: Function that returns the rules by operator.
rules = _RULES.all


def rule_of(domain: str, name: str) -> Rule | None:
    """Return the rule of an operator; None if there is none."""
    return rules().get(f"{domain}.{name}" if domain else name)
