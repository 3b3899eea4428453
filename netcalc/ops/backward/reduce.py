"""Backward passes of :mod:`netcalc.ops.reduce`."""
