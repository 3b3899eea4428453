"""Backward passes of :mod:`netcalc.ops.avg_pool`."""
