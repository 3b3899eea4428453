"""Rules by family of operations, with the names of :mod:`netcalc.ops`."""
