"""Options of ``report``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated

from netcalc.arguments import FLAG, Option
from netcalc.options import BoundOptions, CountOptions, HeldOptions, ModelOptions


class ReportOptions(CountOptions, HeldOptions, BoundOptions, total=False):
    """Options of ``report`` on a network."""

    signal: Annotated[bool, Option(FLAG, False, "Measure activations and gradients at initialization, in NumPy.")]


class ReportsOptions(ReportOptions, ModelOptions, total=False):
    """Options of ``report`` on one or two models."""
