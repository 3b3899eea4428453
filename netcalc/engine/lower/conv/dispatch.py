"""Convolutions: choice of the algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.compiled_windows import emit_grouped, use_grouped
from netcalc.engine.lower.conv.depthwise import emit_depthwise
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.conv.im2col import emit_im2col
from netcalc.engine.lower.conv.packed import emit_packed, use_packed
from netcalc.engine.lower.conv.winograd import emit_winograd
from netcalc.engine.lower.conv.winograd_choice import winograd_side
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.gemm import chunk_tiles, emit_chunked_product, emit_product
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.small_gemm import chunks
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import wide


@lowering("conv1d", "conv2d", "conv3d")
def lower_convolution(context: LoweringContext, node: GraphNode) -> bool:
    """Emit a convolution of images whose pixels are rows of channels.

    In this layout a window consists of few contiguous runs, and a product gives whole rows.
    """
    op, operand, result = node.op, node.operand, node.result
    if node.inputs[1] is not None or node.inputs[2] is not None:  # algorithms transform filters when they are loaded
        return False
    if op.padding_mode != "zeros" or op.weight_standardization or 0 in (*operand.shape, *result.shape):
        return False
    conv = _convolution(context, node, operand)
    if context.tuning.depthwise and conv.groups > 1 and conv.groups == conv.channels == conv.outs:
        emit_depthwise(context, conv if len(conv.kernel) > 1 else _as_image(conv))
    elif side := winograd_side(context, node):
        emit_winograd(context, _in_its_place(context, conv), side)
    elif use_grouped(conv, context.tuning):
        emit_grouped(context, conv)
    elif use_packed(context, conv):
        matrix = "weight" if conv.groups == 1 and math.prod(conv.kernel) == 1 else None
        emit_packed(context, _in_its_place(context, conv), matrix)
    elif conv.groups == 1 and not conv.padded and math.prod(op.kernel) == 1:
        _emit_pointwise(context, conv)
    else:
        emit_im2col(context, conv)
    return True


def _convolution(context: LoweringContext, node: GraphNode, operand: Tensor) -> Convolution:
    """Return the geometry of a node, its operands with a batch and with channels last."""
    op, shape = node.op, operand.shape
    pads = tuple((int(a), int(b)) for a, b in op.pads(shape[-op.axes :]))
    lead = len(shape) - op.axes - 1  # 1 with a batch, 0 without
    order = (*range(lead), *range(lead + 1, len(shape)), lead)
    constants, dtype = context.constants, compute_dtype(node.outputs[0].dtype)
    bias = None
    if constants.has(node, "bias"):
        bias = constants.derived((op.out,), dtype, lambda: wide(constants.fetch(node, "bias")))
    epilogue = Epilogue(context, node, node.outputs[0], node.after, order, bias, folds=lead == 1)
    x = context.emit.widened(node, context.layout.slot(operand)).permuted(order)
    out = context.layout.allocate(node.result, order).permuted(order)
    if not lead:
        x, out = _with_batch(x), _with_batch(out)
    # a single window has no next one, whose distance may be too large for strides
    stride = tuple(step if count > 1 else 1 for step, count in zip(op.stride, out.shape[1:-1], strict=True))
    return Convolution(
        node,
        x,
        out,
        op.kernel,
        stride,
        op.dilation,
        pads,
        op.groups,
        lambda: _scaled(wide(constants.fetch(node, "weight")), epilogue.scale),
        epilogue,
    )


def _scaled(filters: Array, scale: Callable[[], Array] | None) -> Array:
    """Return filters with the factors of a normalization that follows."""
    if scale is None:
        return filters
    scaled: Array = filters * scale().astype(filters.dtype).reshape(-1, *(1,) * (filters.ndim - 1))
    return scaled


def _in_its_place(context: LoweringContext, conv: Convolution) -> Convolution:
    """Return a convolution with its result as a part of a later concatenation, if it can be computed there."""
    result, rank = conv.node.result, len(conv.out.shape)
    if len(result.shape) < rank:  # without a batch
        return conv
    out = context.joins.claim(result, (0, *range(2, rank), 1))
    return conv if out is None else replace(conv, out=out)


def _as_image(conv: Convolution) -> Convolution:
    """Return a convolution of a sequence as a convolution of an image one pixel wide."""
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


def _with_batch(image: Slot) -> Slot:
    """Return a single image as a batch."""
    view = image.reshaped((1, *image.shape))
    assert view is not None
    return view


def _emit_pointwise(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution of a single tap: a product with the pixels that the stride takes."""
    x = conv.x
    for axis, (count, step) in enumerate(zip(conv.counts, conv.stride, strict=True)):
        x = x.part(axis + 1, 0, count, step)
    rows = context.emit.rows(conv.node, x, range(len(x.shape)))

    def load() -> Array:
        return conv.filters().reshape(conv.outs, conv.channels).T

    jobs, blas_threads = context.parallelism.product_jobs(conv.macs), context.parallelism.blas_threads
    for tiles in chunk_tiles(rows.shape[0], conv.outs, jobs, context.tuning):
        height, width = (max(side.stop - side.start for side in sides) for sides in zip(*tiles, strict=True))
        split = chunks(height, conv.channels, width, blas_threads, context.tuning)
        if split is not None:
            emit_chunked_product(context, conv.node, rows, load, split, conv.out_rows, conv.epilogue, tiles)
            return
    weight = context.constants.derived((conv.channels, conv.outs), rows.dtype, load)
    emit_product(context, conv.node, rows, weight, conv.out_rows, conv.epilogue)
