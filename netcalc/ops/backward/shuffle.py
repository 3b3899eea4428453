"""Backward passes of :mod:`netcalc.ops.shuffle`."""
