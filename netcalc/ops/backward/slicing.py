"""Backward passes of :mod:`netcalc.ops.slicing`."""
