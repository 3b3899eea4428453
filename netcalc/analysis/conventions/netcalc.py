"""The default convention: all work, by the definition of each operation."""

from __future__ import annotations

from netcalc.analysis.conventions.convention import Convention

NETCALC = Convention(
    name="netcalc",
    about="every operation; 1 MAC = 2 FLOPs",
    source="docs/counting.md",
    per_mac=2,
    per_other=1,
    rules={},
    backward={},
)
