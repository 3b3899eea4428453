"""Products of :mod:`netcalc.ops.grid_sample`."""
