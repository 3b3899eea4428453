"""Backward passes of :mod:`netcalc.ops.mask`."""
