"""Backward passes of :mod:`netcalc.ops.matmul`."""
