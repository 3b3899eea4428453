"""Products of :mod:`netcalc.ops.transcendental`."""
