"""Backward passes of :mod:`netcalc.ops.conv`."""
