"""Products of :mod:`netcalc.ops.blur_pool`."""
