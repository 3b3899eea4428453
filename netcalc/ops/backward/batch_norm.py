"""Backward passes of :mod:`netcalc.ops.batch_norm`."""
