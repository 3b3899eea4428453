"""Kernels in C, compiled when netcalc is installed; everything works without them."""
