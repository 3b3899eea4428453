"""Backward passes of :mod:`netcalc.ops.creation`."""

from netcalc.ops.backward._movement import moved

moved("parameter", rule="∂L/∂parameter = g")
moved("linear_weight", rule="∂L/∂weight = g")
