"""Backward passes of :mod:`netcalc.ops.rotary`."""
