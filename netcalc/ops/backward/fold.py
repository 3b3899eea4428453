"""Backward passes of :mod:`netcalc.ops.fold`."""
