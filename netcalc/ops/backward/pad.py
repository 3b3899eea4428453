"""Backward passes of :mod:`netcalc.ops.pad`."""
