"""Backward passes of :mod:`netcalc.ops.creation`."""
