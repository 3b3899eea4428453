"""Backward passes of :mod:`netcalc.ops.shape`."""

from __future__ import annotations

from netcalc.ops.backward._movement import moved

moved("reshape", "flatten", "unflatten", rule="∂L/∂x = g, in the shape of x")
