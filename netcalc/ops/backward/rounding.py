"""Backward passes of :mod:`netcalc.ops.rounding`."""
