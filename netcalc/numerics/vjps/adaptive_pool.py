"""Products of :mod:`netcalc.ops.adaptive_pool`."""
