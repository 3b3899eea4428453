"""Backward passes of :mod:`netcalc.ops.resize`."""
