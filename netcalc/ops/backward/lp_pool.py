"""Backward passes of :mod:`netcalc.ops.lp_pool`."""
