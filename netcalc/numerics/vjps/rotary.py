"""Products of :mod:`netcalc.ops.rotary`."""
