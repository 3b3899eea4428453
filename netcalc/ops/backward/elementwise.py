"""Backward passes of :mod:`netcalc.ops.elementwise`."""
