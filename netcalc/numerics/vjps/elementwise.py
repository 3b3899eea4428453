"""Products of :mod:`netcalc.ops.elementwise`."""
