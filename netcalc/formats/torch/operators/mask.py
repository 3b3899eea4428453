"""Triangles of matrices."""

from __future__ import annotations

from functools import partial

from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import function

for _operation in ("tril", "triu"):
    operator(f"aten.{_operation}.default")(partial(function, _operation))
