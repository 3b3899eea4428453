"""Products of :mod:`netcalc.ops.global_pool`."""
