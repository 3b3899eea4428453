"""Propagation through rectifiers."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._functions import function
from netcalc.ops import FAMILIES

rule(*FAMILIES["rectifier"])(function)
