"""Products of :mod:`netcalc.ops.shuffle`."""
