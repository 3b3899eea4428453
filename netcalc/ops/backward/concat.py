"""Backward passes of :mod:`netcalc.ops.concat`."""

from __future__ import annotations

from netcalc.ops.backward._movement import moved

moved("concat", rule="∂L/∂xᵢ = the part of g that xᵢ gave")
moved("stack", rule="∂L/∂xᵢ = g at index i of the new axis")
moved("split", "chunk", rule="∂L/∂x = g₁, g₂, … joined, with 0 for pieces without a gradient")
