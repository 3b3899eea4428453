"""Propagation through parts of tensors and other orders."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view

rule("slice", "select", "roll", "flip")(view)
