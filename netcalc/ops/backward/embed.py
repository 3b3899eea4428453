"""Backward passes of :mod:`netcalc.ops.embed`."""
