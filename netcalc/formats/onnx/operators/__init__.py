"""Operators of ONNX as operations of netcalc: one rule for each, which knows all its versions.

A rule takes a :class:`~netcalc.formats.onnx.call.Call`, adds lines to the graph and returns the value of the result,
or a list of values.  It raises RuleError for what netcalc cannot express.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from netcalc.formats.onnx.call import Call

__all__ = ["Rule", "operator", "rule_of", "rules"]

#: A rule: the call that it translates.
Rule = Callable[[Call], Any]

_RULES: dict[str, Rule] = {}


def operator(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a rule for operators, those of other domains as ``domain.Name``."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name in _RULES:
                raise ValueError(f"{name} has two rules")
            _RULES[name] = rule
        return rule

    return register


@cache
def rules() -> dict[str, Rule]:
    """Return the rules by operator; imports all modules."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    return _RULES


def rule_of(domain: str, name: str) -> Rule | None:
    """Return the rule of an operator; None if there is none."""
    return rules().get(f"{domain}.{name}" if domain else name)
