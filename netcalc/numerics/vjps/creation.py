"""Products of :mod:`netcalc.ops.creation`."""
