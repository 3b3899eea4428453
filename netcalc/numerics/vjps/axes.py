"""Products of :mod:`netcalc.ops.axes`."""
