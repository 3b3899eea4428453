"""Products of :mod:`netcalc.ops.attention`."""
