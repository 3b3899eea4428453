"""Backward passes of :mod:`netcalc.ops.loss`."""
