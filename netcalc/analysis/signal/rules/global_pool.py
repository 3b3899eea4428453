"""Propagation through global pooling."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._pooling import average, maximum

rule("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")(maximum)
rule("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")(average)
