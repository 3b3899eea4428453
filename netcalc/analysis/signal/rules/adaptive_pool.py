"""Propagation through pooling to a given size."""

from __future__ import annotations

from netcalc.analysis.signal.rules import rule
from netcalc.analysis.signal.rules._pooling import average, maximum

rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")(maximum)
rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")(average)
