"""Operators of PyTorch (ATen) as operations of netcalc: one rule for each overload.

The modules have the names of the families of :mod:`netcalc.ops`; those with an underscore belong to no family.

A rule is a function whose arguments have the names of the operator's schema.  Tensors are values of the graph, sizes
are numbers or polynomials, and everything else is plain Python; arguments that the call does not give have the defaults
of the schema.  It adds lines to the graph and returns the value of the result, a tuple of values, or one of its
arguments for an operator that changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from netcalc.formats.graph.rules import Rules, RuleT

__all__ = ["Rule", "RuleT", "operator", "rule_of", "rules"]

#: A rule: the builder, then the arguments of the operator by name.
Rule = Callable[..., Any]

#: Names such as ``aten.add_.Tensor``, but not ``aten.__and__.Tensor``.
_IN_PLACE = re.compile(r"^(\w+\.\w*[^_])_(\.\w+)$")

_RULES = Rules(__name__, __path__)

#: Decorator that registers a rule for overloads such as ``aten.linear.default``.
operator = _RULES.operator
#: Function that returns the rules by overload.
rules = _RULES.all


def rule_of(overload: str) -> Rule | None:
    """Return the rule of an overload, the rule of ``add`` for ``add_``; None if there is none.

    An in-place operator takes the element type of its input afterwards, and the translation makes it the input's value.
    """
    rule = rules().get(overload)
    return rules().get(_IN_PLACE.sub(r"\1\2", overload)) if rule is None else rule
