"""Backward passes of :mod:`netcalc.ops.rectifier`."""

from __future__ import annotations

from netcalc.ops.backward._elementwise import declare

declare("relu", derivative="0 where y ≤ 0, else g", work={"compare": 1}, saves="result")
