"""Products of :mod:`netcalc.ops.softmax`."""
