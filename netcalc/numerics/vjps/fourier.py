"""Products of :mod:`netcalc.ops.fourier`."""
