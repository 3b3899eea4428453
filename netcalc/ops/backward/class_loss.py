"""Backward passes of :mod:`netcalc.ops.class_loss`."""
