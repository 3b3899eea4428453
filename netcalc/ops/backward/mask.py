"""Backward passes of :mod:`netcalc.ops.mask`."""

from __future__ import annotations

from netcalc.ops.backward._movement import moved

moved("tril", "triu", rule="∂L/∂x = g within the triangle, 0 elsewhere")
