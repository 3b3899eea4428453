"""Backward pass of :mod:`netcalc.ops.cache`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, backward
from netcalc.ops.cache import KeyValueCache


@backward("key_value_cache")
class CacheBackward(Backward):
    """Slices of the gradients."""

    rule = ("∂L/∂past, ∂L/∂new = the parts of g along the length; 0 for positions that were dropped",)

    def cost(self, op: KeyValueCache, call: BackwardCall) -> Sequence[Term]:
        return ()
