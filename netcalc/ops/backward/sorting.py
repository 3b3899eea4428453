"""Backward passes of :mod:`netcalc.ops.sorting`."""
