"""Products of :mod:`netcalc.ops.dropout`."""
