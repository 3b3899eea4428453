"""No kernel: an operator that netcalc has no rule for (:mod:`netcalc.ops.unknown`) cannot be run."""
