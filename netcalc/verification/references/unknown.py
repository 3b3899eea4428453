"""No reference: the values of an operator that netcalc has no rule for (:mod:`netcalc.ops.unknown`) are not known."""
