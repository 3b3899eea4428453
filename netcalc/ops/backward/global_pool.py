"""Backward passes of :mod:`netcalc.ops.global_pool`."""
