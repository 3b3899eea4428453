"""Backward passes of :mod:`netcalc.ops.axes`."""
