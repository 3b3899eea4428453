"""Products of :mod:`netcalc.ops.conv`."""
