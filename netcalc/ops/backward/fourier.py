"""Backward passes of :mod:`netcalc.ops.fourier`."""
