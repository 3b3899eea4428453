"""Propagation through maxima of windows."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._pooling import maximum

rule("max_pool1d", "max_pool2d", "max_pool3d")(maximum)
