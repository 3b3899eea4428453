"""Products of :mod:`netcalc.ops.resize`."""
