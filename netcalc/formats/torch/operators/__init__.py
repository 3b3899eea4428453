"""Operators of PyTorch (ATen) as operations of netcalc: one rule for each overload, one family in a file.

A rule is a function whose arguments have the names of the operator's schema.  Tensors are values of the graph, sizes
are numbers or polynomials, and everything else is plain Python; arguments that the call does not give have the defaults
of the schema.  It adds lines to the graph and returns the value of the result, a tuple of values, or one of its
arguments for an operator that changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["Rule", "RuleT", "operator", "rule_of", "rules"]

#: A rule: the builder, then the arguments of the operator by name.
Rule = Callable[..., Any]
RuleT = TypeVar("RuleT", bound=Rule)

#: The modules with rules.
FAMILIES = (
    *(
        "activations",
        "arithmetic",
        "comparison",
        "complex_numbers",
        "dropout",
        "functions",
        "products",
        "reductions",
        "sorting",
    ),
    *("attention", "convolution", "linear", "loss", "norm", "pool", "recurrent", "resize"),
    *("axes", "creation", "joining", "masks", "no_effect", "slicing", "views"),
)

_RULES: dict[str, Rule] = {}


def operator(*overloads: str) -> Callable[[RuleT], RuleT]:
    """Return a decorator that registers a rule for overloads such as ``aten.linear.default``."""

    def register(rule: RuleT) -> RuleT:
        for overload in overloads:
            if overload in _RULES:
                raise ValueError(f"{overload} has two rules")
            _RULES[overload] = rule
        return rule

    return register


def rules() -> dict[str, Rule]:
    """Return the rules by overload; imports all families."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
    return _RULES


def rule_of(overload: str) -> Rule | None:
    """Return the rule of an overload; None if there is none."""
    return rules().get(overload)
