"""Products of :mod:`netcalc.ops.activation`."""
