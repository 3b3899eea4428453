"""Products of :mod:`netcalc.ops.avg_pool`."""
