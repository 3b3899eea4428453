"""Products of :mod:`netcalc.ops.shape`."""
