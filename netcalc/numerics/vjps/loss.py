"""Products of :mod:`netcalc.ops.loss`."""
