"""Products of :mod:`netcalc.ops.rounding`."""
