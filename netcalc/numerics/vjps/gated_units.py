"""Products of :mod:`netcalc.ops.gated_units`."""
