"""Backward passes of :mod:`netcalc.ops.indexing`."""
