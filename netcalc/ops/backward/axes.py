"""Backward passes of :mod:`netcalc.ops.axes`."""

from __future__ import annotations

from netcalc.ops.backward._movement import moved

moved("squeeze", "unsqueeze", rule="∂L/∂x = g, in the shape of x")
moved("permute", "transpose", rule="∂L/∂x = g, with its axes in the order of x")
