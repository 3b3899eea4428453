"""Products of :mod:`netcalc.ops.max_pool`."""
