"""Backward passes of :mod:`netcalc.ops.recurrent`."""
