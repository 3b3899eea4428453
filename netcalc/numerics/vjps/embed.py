"""Products of :mod:`netcalc.ops.embed`."""
