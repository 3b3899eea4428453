"""Products of :mod:`netcalc.ops.indexing`."""
