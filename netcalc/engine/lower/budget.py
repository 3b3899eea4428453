"""Memory budget of transformed parameters."""

from __future__ import annotations

from netcalc.engine.tuning import Tuning


class Budget:
    """Bytes that transformed parameters may take beyond the parameters as declared."""

    def __init__(self, declared: int, tuning: Tuning) -> None:
        self._remaining = max(tuning.transformed_fraction * declared, tuning.transformed_bytes)

    def spend(self, nbytes: int) -> bool:
        """Spend so many bytes; return False, and spend nothing, if fewer remain."""
        granted = nbytes <= self._remaining
        self._remaining -= nbytes if granted else 0
        return granted
