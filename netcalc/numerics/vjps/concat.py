"""Products of :mod:`netcalc.ops.concat`."""
