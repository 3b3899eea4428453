"""Backward passes of :mod:`netcalc.ops.compare`."""
