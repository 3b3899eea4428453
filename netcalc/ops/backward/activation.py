"""Backward passes of :mod:`netcalc.ops.activation`."""
