"""Products of :mod:`netcalc.ops.rotary`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels.rotary import rotation
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.rotary import RotaryEmbedding


@vjp("rotary_embedding")
def rotary_embedding(op: RotaryEmbedding, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    first, second, cos, sin = rotation(op, g, back.saved.get("positions"))
    a, b = g[..., first], g[..., second]
    turned = g.copy()
    turned[..., first] = a * cos + b * sin
    turned[..., second] = b * cos - a * sin
    return {0: turned}
