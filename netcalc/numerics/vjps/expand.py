"""Products of :mod:`netcalc.ops.expand`."""
