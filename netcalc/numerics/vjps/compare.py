"""Products of :mod:`netcalc.ops.compare`."""
