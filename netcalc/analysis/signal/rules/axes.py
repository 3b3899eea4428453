"""Propagation through other axes."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view

rule("squeeze", "unsqueeze", "permute", "transpose")(view)
