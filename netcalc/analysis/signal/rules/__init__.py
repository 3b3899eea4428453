"""Rules by which operations propagate moments of signals and gradients; modules mirror :mod:`netcalc.ops`."""

from __future__ import annotations

from netcalc.analysis.signal.state import Rule
from netcalc.ops import modules
from netcalc.registry import Registry

__all__ = ["RULES", "rule"]

#: Families with operations that have a rule.
_RULED = (
    "activation",
    "adaptive_pool",
    "arithmetic",
    "avg_pool",
    "axes",
    "batch_norm",
    "concat",
    "conv",
    "creation",
    "dropout",
    "elementwise",
    "embed",
    "expand",
    "global_pool",
    "linear",
    "max_pool",
    "norm",
    "position",
    "random",
    "rectifier",
    "shape",
    "shuffle",
    "slicing",
)
RULES: Registry[Rule] = Registry("signal rule", modules(__name__, _RULED))
#: Decorator that registers a rule under the names of its operations.
rule = RULES.register
