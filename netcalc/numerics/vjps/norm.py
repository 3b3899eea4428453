"""Products of :mod:`netcalc.ops.norm`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import axes_of, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.norm import by_channel, trailing
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._norms import norm_gradient
from netcalc.numerics.vjps._statistics import through_statistics
from netcalc.ops.norm import GroupNorm, LayerNorm, LocalResponseNorm, Normalize, RMSNorm


def _affine(back: Back, g: Array, normal: Array | None, axes: tuple[int, ...]) -> Gradients:
    """Return the gradients of weight and bias: sums over ``axes``."""
    gradients: Gradients = {}
    for source in back.among("weight", 1):
        assert normal is not None
        gradients[source] = np.add.reduce(g * normal, axis=axes)
    for source in back.among("bias", 2):
        gradients[source] = np.add.reduce(g, axis=axes)
    return gradients


@vjp("layer_norm")
def layer_norm(op: LayerNorm, back: Back, gradient: Array) -> Gradients:
    g, axes, normal = wide(gradient), trailing(op), None
    gradients: Gradients = {}
    if back.wants(0, "weight", 1):
        normal = (wide(back.saved["input"]) - back.saved["result1"]) * back.saved["result2"]
        if back.wants(0):
            h = g * wide(back.saved["weight"]) if "weight" in back.saved else g
            gradients[0] = through_statistics(h, normal, back.saved["result2"], axes)
    return gradients | _affine(back, g, normal, tuple(range(g.ndim - len(axes))))


@vjp("rms_norm")
def rms_norm(op: RMSNorm, back: Back, gradient: Array) -> Gradients:
    g, axes, root = wide(gradient), trailing(op), back.saved["result1"]
    normal = wide(back.saved["input"]) * root
    gradients: Gradients = {}
    if back.wants(0):
        h = g
        if "weight" in back.saved:
            weight = wide(back.saved["weight"])
            h = g * (weight + op.offset if op.offset else weight)
        gradients[0] = through_statistics(h, normal, root, axes, centered=False)
    return gradients | _affine(back, g, normal, tuple(range(g.ndim - len(axes))))


@vjp("group_norm")
def group_norm(op: GroupNorm, back: Back, gradient: Array) -> Gradients:
    g, normal = wide(gradient), None
    shape = g.shape
    grouped = (shape[0], op.groups, shape[1] // op.groups, -1)
    gradients: Gradients = {}
    if back.wants(0, "weight", 1):
        middle, root = (back.saved[name].reshape(shape[0], op.groups, 1, 1) for name in ("result1", "result2"))
        spread = (wide(back.saved["input"]).reshape(grouped) - middle) * root
        normal = spread.reshape(shape)
        if back.wants(0):
            h = g * by_channel(wide(back.saved["weight"]), g.ndim) if "weight" in back.saved else g
            gradients[0] = through_statistics(h.reshape(grouped), spread, root, (2, 3)).reshape(shape)
    return gradients | _affine(back, g, normal, (0, *range(2, g.ndim)))


@vjp("local_response_norm")
def local_response_norm(op: LocalResponseNorm, back: Back, gradient: Array) -> Gradients:
    x = wide(back.saved["self"])
    direct = wide(gradient) / back.saved["other"]
    flow = direct * x / back.saved["pow_self"]
    channels = x.shape[1]
    # channel c is in the windows of the channels from c − (size − 1)//2 to c + size//2
    around = ((op.size - 1) // 2, op.size // 2)
    padded = like(x, np.pad(np.asarray(flow), [(0, 0), around, *[(0, 0)] * (x.ndim - 2)]))
    window = padded[:, :channels]
    for start in range(1, op.size):
        window = window + padded[:, start : start + channels]
    return {0: direct - window * (2 * op.alpha * op.beta / op.size) * x}


@vjp("normalize")
def normalize(op: Normalize, back: Back, gradient: Array) -> Gradients:
    norm = back.saved["result"]
    divisor = np.maximum(norm, op.eps)
    direct = wide(gradient) / divisor
    if not op.p:
        return {0: direct}
    x = wide(back.saved["self"])
    axes = axes_of(op.axis, x.ndim)
    through = select(norm < op.eps, 0, np.add.reduce(direct * x, axis=axes, keepdims=True) / divisor)
    return {0: direct - norm_gradient(x, norm, through, op.p, axes)}
