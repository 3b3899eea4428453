"""Convolutions: which way each is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from netcalc.engine.fuse import NORMALISING
from netcalc.engine.graph import Node, Tensor
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.conv.depthwise import emit_depthwise
from netcalc.engine.lower.conv.geometry import Convolving
from netcalc.engine.lower.conv.im2col import emit_columns
from netcalc.engine.lower.conv.planar_im2col import emit_planes, narrow_windows
from netcalc.engine.lower.conv.winograd import emit_winograd, pays
from netcalc.engine.lower.epilogue import Epilogue, statistics
from netcalc.engine.lower.gemm import emit_few, emit_product
from netcalc.engine.lower.small_gemm import chunks
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array, wide


@lowering("conv1d", "conv2d", "conv3d")
def convolution(low: Lowering, node: Node) -> bool:
    """Images as rows of channels, so that a window is few runs of bytes and a product gives whole rows."""
    tuning, op, source, result = low.tuning, node.op, node.inputs[0], node.result
    assert source is not None
    if op.padding_mode != "zeros" or op.weight_standardization or 0 in (*source.shape, *result.shape):
        return False
    shape = source.shape
    pads = tuple((int(a), int(b)) for a, b in op.pads(shape[-op.axes :]))
    lead = len(shape) - op.axes - 1  # 1 with a batch, 0 without
    order = (*range(lead), *range(lead + 1, len(shape)), lead)
    filters, bias, last, stages = _folded(low, node)
    epilogue = Epilogue(low, node, last, stages, order, bias)
    x, out = low.wide(node, low.slot(source)).permuted(order), low.new(result, order).permuted(order)
    if not lead:
        x, out = _batched(x), _batched(out)
    conv = Convolving(node, x, out, op.kernel, op.stride, op.dilation, pads, op.groups, filters, epilogue)
    if tuning.depthwise and conv.groups > 1 and conv.groups == conv.channels == conv.outs:
        emit_depthwise(low, conv if len(conv.kernel) > 1 else _as_image(conv))
    elif conv.groups == 1 and not any(map(any, pads)) and math.prod(op.kernel) == 1:
        _pointwise(low, conv)
    elif pays(low, conv):
        emit_winograd(low, conv)
    elif tuning.planar_im2col and narrow_windows(conv, tuning):
        emit_planes(low, conv)
    else:
        emit_columns(low, conv)
    return True


def _folded(low: Lowering, node: Node) -> tuple[Callable[[], Array], Slot | None, Tensor, list[Node]]:
    """The filters and the bias, with a normalisation that comes first in them; what they give; the stages left."""
    op, stages = node.op, node.after
    work = wide_dtype(node.outputs[0].dtype)
    biased = low.param(node, "bias") is not None
    if not (low.tuning.fold_batch_norm and stages and stages[0].op.name in NORMALISING):
        bias = low.made((op.out,), work, lambda: wide(low.fetch(node, "bias"))) if biased else None
        return lambda: wide(low.fetch(node, "weight")), bias, node.outputs[0], stages
    scale, shift = statistics(low, stages[0])

    def filters() -> Array:
        weight = wide(low.fetch(node, "weight"))
        return np.asarray(weight * scale().astype(work).reshape(-1, *(1,) * (weight.ndim - 1)))

    def moved() -> Array:
        return shift() + low.fetch(node, "bias") * scale() if biased else shift()

    return filters, low.made((op.out,), work, moved), stages[0].outputs[0], stages[1:]


def _as_image(conv: Convolving) -> Convolving:
    """A sequence as an image one pixel wide."""
    return replace(
        conv,
        x=conv.x.inserted(2),
        out=conv.out.inserted(2),
        kernel=(*conv.kernel, 1),
        stride=(*conv.stride, 1),
        dilation=(*conv.dilation, 1),
        pads=(*conv.pads, (0, 0)),
        filters=lambda: conv.filters()[..., None],
    )


def _batched(image: Slot) -> Slot:
    view = image.reshaped((1, *image.shape))
    assert view is not None
    return view


def _pointwise(low: Lowering, conv: Convolving) -> None:
    """Filters of one tap: a product with the pixels that the stride leaves, in place where they lie in order."""
    x = conv.x
    for axis, (count, step) in enumerate(zip(conv.counts, conv.stride, strict=True)):
        x = x.part(axis + 1, 0, count, step)
    rows = low.rows(conv.node, x, range(len(x.shape)))

    def load() -> Array:
        return conv.filters().reshape(conv.outs, conv.channels).T

    shares = low.parallelism.product_jobs(conv.macs)
    shares = shares if conv.outs % shares == 0 else 1
    split = chunks(rows.shape[0], conv.channels, conv.outs // shares, low.parallelism.blas_threads, low.tuning)
    if split is not None:
        emit_few(low, conv.node, rows, load, split, conv.out_rows, conv.epilogue, shares)
    else:
        weight = low.made((conv.channels, conv.outs), rows.dtype, load)
        emit_product(low, conv.node, rows, weight, conv.out_rows, conv.epilogue)
