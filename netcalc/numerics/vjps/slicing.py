"""Products of :mod:`netcalc.ops.slicing`."""
