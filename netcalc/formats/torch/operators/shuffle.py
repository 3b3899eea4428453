"""Shuffles of pixels and channels."""

from __future__ import annotations

from functools import partial

from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._elementwise import function

for _operation in ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"):
    operator(f"aten.{_operation}.default")(partial(function, _operation))
operator("aten.native_channel_shuffle.default")(partial(function, "channel_shuffle"))
