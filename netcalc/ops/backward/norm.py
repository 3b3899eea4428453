"""Backward passes of :mod:`netcalc.ops.norm`."""
