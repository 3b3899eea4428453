"""Backward passes of :mod:`netcalc.ops.shape`."""
