"""Products of :mod:`netcalc.ops.mask`."""
