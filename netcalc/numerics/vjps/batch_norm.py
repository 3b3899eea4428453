"""Products of :mod:`netcalc.ops.batch_norm`."""
