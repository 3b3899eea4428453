"""Backward passes of :mod:`netcalc.ops.adaptive_pool`."""
