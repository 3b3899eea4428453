"""Products of :mod:`netcalc.ops.lp_pool`."""
