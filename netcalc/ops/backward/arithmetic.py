"""Backward passes of :mod:`netcalc.ops.arithmetic`."""
