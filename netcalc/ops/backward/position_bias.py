"""Backward passes of :mod:`netcalc.ops.position_bias`."""
