"""Products of :mod:`netcalc.ops.sorting`."""
