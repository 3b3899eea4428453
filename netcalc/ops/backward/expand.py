"""Backward passes of :mod:`netcalc.ops.expand`."""
