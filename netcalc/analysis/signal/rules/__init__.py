"""Rules by which operations propagate moments of signals and gradients, one module for each kind of operation."""

from __future__ import annotations

from netcalc.analysis.signal.rules import norms, pointwise, products, structure
from netcalc.analysis.signal.state import Rule
from netcalc.opdef import Operation

__all__ = ["RULES", "rule_for"]

RULES: dict[str, Rule] = {**products.RULES, **pointwise.RULES, **norms.RULES, **structure.RULES}


def rule_for(op: Operation) -> Rule | None:
    """Return the rule of an operation; None if it has none."""
    return RULES.get(op.name)
