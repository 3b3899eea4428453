"""Products of :mod:`netcalc.ops.cache`."""
