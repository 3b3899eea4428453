"""Backward passes of :mod:`netcalc.ops.transcendental`."""
