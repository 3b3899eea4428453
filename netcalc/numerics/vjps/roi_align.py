"""Product of :mod:`netcalc.ops.roi_align`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.roi_align import neighbors, placed, rows_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.roi_align import RoIAlign


@vjp("roi_align")
def roi_align(op: RoIAlign, back: Back, gradient: Array) -> Gradients:
    gradients: Gradients = {}
    if back.wants(1):
        gradients[1] = np.zeros(back.shape(1), gradient.dtype)
    if back.wants(0):
        gradients[0] = _gradient_of_image(op, back.saved["rois"], np.moveaxis(wide(gradient), 1, -1), back.shape(0))
    return gradients


def _gradient_of_image(op: RoIAlign, rois: Array, g: Array, shape: tuple[int, ...]) -> Array:
    count, channels, *sizes = shape
    axes = placed(op, wide(rois), tuple(sizes))
    flat = like(g, np.zeros(count * sizes[0] * sizes[1] * channels, g.dtype))
    share = (g / np.asarray(op.sampling_ratio**2, g.dtype)).reshape(len(rois) * g.shape[1], *g.shape[2:])
    for rows in rows_of(op, rois, (count, *sizes, channels)):
        spread = np.repeat(share[rows.numbers], op.sampling_ratio, axis=1)
        for sample in range(op.sampling_ratio):
            for row, column, weight in neighbors(op, axes, rows, sample):
                places = (rows.images * sizes[0] + row) * sizes[1] + column
                values = spread * weight[..., None]
                np.add.at(flat, (places[..., None] * channels + np.arange(channels)).reshape(-1), values.reshape(-1))
    return np.moveaxis(flat.reshape(count, *sizes, channels), -1, 1)
