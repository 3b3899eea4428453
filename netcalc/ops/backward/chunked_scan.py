"""Backward passes of :mod:`netcalc.ops.chunked_scan`."""
