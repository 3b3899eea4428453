"""Propagation through activation functions."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._functions import function
from netcalc.analysis.signal.rules._views import view
from netcalc.ops import FAMILIES

rule(*(name for name in FAMILIES["activation"] if name != "identity"))(function)
rule("identity")(view)
