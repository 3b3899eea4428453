"""Backward passes of :mod:`netcalc.ops.attention`."""
