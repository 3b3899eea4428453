"""Products of :mod:`netcalc.ops.recurrent`."""
