"""Backward passes of :mod:`netcalc.ops.scan`."""
