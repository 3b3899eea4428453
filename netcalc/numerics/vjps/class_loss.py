"""Products of :mod:`netcalc.ops.class_loss`."""
