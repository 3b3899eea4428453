"""Products of :mod:`netcalc.ops.position`."""
