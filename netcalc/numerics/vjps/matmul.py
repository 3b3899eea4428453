"""Products of :mod:`netcalc.ops.matmul`."""
