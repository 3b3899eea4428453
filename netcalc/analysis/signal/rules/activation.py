"""Propagation through activation functions."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._functions import function
from netcalc.analysis.signal.rules._views import view
from netcalc.ops import FAMILIES

# a gradient ends at `detach`, which is no part of these predictions
rule(*(name for name in FAMILIES["activation"] if name not in ("identity", "detach")))(function)
rule("identity")(view)
