"""Products of :mod:`netcalc.ops.routing`."""
