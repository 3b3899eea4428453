"""Products of :mod:`netcalc.ops.pad`."""
