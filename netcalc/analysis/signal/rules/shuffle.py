"""Propagation through shuffles."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._views import view

rule("channel_shuffle", "pixel_shuffle", "pixel_unshuffle")(view)
