"""Backward passes of :mod:`netcalc.ops.cache`."""
