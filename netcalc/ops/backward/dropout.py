"""Backward passes of :mod:`netcalc.ops.dropout`."""
