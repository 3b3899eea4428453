"""Backward passes of :mod:`netcalc.ops.shuffle`."""

from netcalc.ops.backward._movement import moved

moved(
    *("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
    rule="∂L/∂x = g, each element at the place from which it was moved",
)
