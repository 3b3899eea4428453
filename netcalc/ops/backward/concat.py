"""Backward passes of :mod:`netcalc.ops.concat`."""
