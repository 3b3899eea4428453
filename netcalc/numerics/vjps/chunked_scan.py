"""Products of :mod:`netcalc.ops.chunked_scan`."""
