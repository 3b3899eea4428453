"""Precision and sparsity of parameters: schemes, their assignment to parameters by pattern, and reports of sizes."""

from netcalc.analysis.precision.stored import stored

__all__ = ["stored"]
