"""Products of :mod:`netcalc.ops.position_bias`."""
