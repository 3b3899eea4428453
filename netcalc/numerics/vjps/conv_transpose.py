"""Products of :mod:`netcalc.ops.conv_transpose`."""
