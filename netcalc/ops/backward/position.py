"""Backward passes of :mod:`netcalc.ops.position`."""
