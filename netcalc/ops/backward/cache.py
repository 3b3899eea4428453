"""Backward pass of :mod:`netcalc.ops.cache`."""

from netcalc.ops.backward._movement import moved

moved("key_value_cache", rule="∂L/∂past, ∂L/∂new = the parts of g along the length; 0 for positions that were dropped")
