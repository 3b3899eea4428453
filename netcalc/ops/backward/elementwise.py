"""Backward passes of :mod:`netcalc.ops.elementwise`."""

from __future__ import annotations

from netcalc.ops.backward._elementwise import declare, declare_flat
from netcalc.ops.elementwise import Clamp


def _condition_of_clamp(op: Clamp) -> str:
    bounds = [*(["x ≥ min"] if op.min is not None else []), *(["x ≤ max"] if op.max is not None else [])]
    return f"g where {' and '.join(bounds)}, else 0"


declare("exp", derivative="g·y", work={"mul": 1}, saves="result")
declare("log", derivative="g/x", work={"div": 1}, saves="self")
declare("sqrt", derivative="g/(2·y)", work={"mul": 1, "div": 1}, saves="result")
declare("rsqrt", derivative="−½·g·y³", work={"mul": 4}, saves="result")
declare("reciprocal", derivative="−g·y²", work={"add": 1, "mul": 2}, saves="result")
declare("sin", derivative="g·cos(x)", work={"transcendental": 1, "mul": 1}, saves="self")
declare("cos", derivative="−g·sin(x)", work={"transcendental": 1, "add": 1, "mul": 1}, saves="self")
declare("square", derivative="2·g·x", work={"mul": 2}, saves="self")
declare("abs", derivative="g·sign(x)", work={"compare": 1, "mul": 1}, saves="self")
declare("neg", derivative="−g", work={"add": 1}, saves=None)
declare("clamp", derivative=_condition_of_clamp, work=lambda op: {"compare": len(op.bounds())}, saves="self")
declare("cast", derivative="g, in the type of x", work={}, saves=None)
declare_flat("sign")
