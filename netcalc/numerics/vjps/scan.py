"""Products of :mod:`netcalc.ops.scan`."""
