"""Backward passes of :mod:`netcalc.ops.max_pool`."""
