"""Backward passes of :mod:`netcalc.ops.grid_sample`."""
