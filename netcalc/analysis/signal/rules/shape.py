"""Propagation through other shapes."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view

rule("reshape", "flatten", "unflatten")(view)
