"""Backward passes of :mod:`netcalc.ops.routing`."""
