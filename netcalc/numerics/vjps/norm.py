"""Products of :mod:`netcalc.ops.norm`."""
