"""Backward passes of :mod:`netcalc.ops.blur_pool`."""
