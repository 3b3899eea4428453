"""Products of :mod:`netcalc.ops.arithmetic`."""
