"""Products of :mod:`netcalc.ops.reduce`."""
