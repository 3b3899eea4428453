"""Eager execution of :mod:`netcalc.ops.adaptive_pool`."""

from netcalc.ops.eager import eager
from netcalc.ops.eager.max_pool import MaxPoolingEager

eager("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")(MaxPoolingEager)
