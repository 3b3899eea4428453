"""Products of :mod:`netcalc.ops.fold`."""
