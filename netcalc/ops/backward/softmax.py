"""Backward passes of :mod:`netcalc.ops.softmax`."""
