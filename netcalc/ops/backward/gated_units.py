"""Backward passes of :mod:`netcalc.ops.gated_units`."""
