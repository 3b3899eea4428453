"""Propagation through means of windows."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._pooling import average

rule("avg_pool1d", "avg_pool2d", "avg_pool3d")(average)
