"""Convolutions, and products as those of one tap, by the kernel in C that reads windows in place.

The filters are packed when they are loaded, where BLAS packs them in every pass, and the windows are not copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.constants import Constants
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.compiled_windows import windows_of
from netcalc.engine.lower.conv.geometry import Convolution, ConvTile
from netcalc.engine.lower.conv.product_tiles import product_tiles, windows_in
from netcalc.engine.lower.conv.runs import use_runs, with_runs
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.library import blocks
from netcalc.engine.native.product import (
    ADDRESS,
    filters_in,
    pack,
    pack_columns,
    packed_columns,
    product,
    step_of,
)
from netcalc.engine.native.windows import MOST_AXES, MOST_CHANNELS, MOST_TAPS
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.weights.pieces import PIECE


def use_packed(context: LoweringContext, conv: Convolution) -> bool:
    """Return True if the kernel takes this convolution, and groups fill its blocks."""
    size = blocks()
    return (
        size is not None
        and packs(context)
        and conv.x.dtype == conv.out.dtype == np.float32
        and len(conv.kernel) <= MOST_AXES
        and math.prod(conv.kernel[:-1] if _has_runs(context, conv) else conv.kernel) <= MOST_TAPS
        and (conv.channels <= MOST_CHANNELS or not conv.padded)
        and (conv.groups == 1 or conv.outs // conv.groups % size.width == 0)
        and conv.out.elements // conv.outs >= context.tuning.packed_rows
    )


def packs(context: LoweringContext) -> bool:
    """Return True if there is a kernel for packed filters, and it does all products of one thread."""
    tuning = context.tuning
    return blocks() is not None and tuning.compiled and tuning.packed and context.parallelism.blas_threads == 1


def packed_matrix(context: LoweringContext, node: GraphNode, name: str, load_scale: Callable[[], Array] | None) -> Slot:
    """Return the slot of the packed filters that a parameter has as (filters, depth) and axes of one element.

    ``load_scale`` computes factors of the filters; without it, all operations that use the parameter share the slot.
    """
    constants = context.constants
    columns, *depth = constants.shape(node, name)

    def fill(panels: Array) -> None:
        _fill_matrix(constants, node, name, panels[0], columns, load_scale and load_scale())

    key = None if load_scale else ("packed", node.instance.owners[name])
    return constants.filled((1, packed_columns(columns), math.prod(depth)), np.dtype(np.float32), fill, key)


def emit_packed(context: LoweringContext, conv: Convolution, matrix: str | None = None) -> None:
    """Emit a step of tiles that the kernel computes.

    ``matrix`` is the parameter that has the filters as (filters, depth) and axes of one element, of a single group; by
    default they are those of ``conv``.
    """
    size = blocks()
    assert size is not None
    if _has_runs(context, conv):
        conv = with_runs(context, conv)
    x = conv.x if conv.x.strides[-1] == conv.x.dtype.itemsize else context.emit.copy(conv.node, conv.x)
    share, outs, taps = conv.channels // conv.groups, conv.outs // conv.groups, math.prod(conv.kernel)

    def fill(panels: Array) -> None:
        filters = conv.filters().reshape(conv.groups, outs, share, taps).swapaxes(2, 3)
        for panel, group in zip(panels, filters, strict=True):
            np.copyto(filters_in(panel, outs).reshape(group.shape), group)
            pack(panel, outs)

    if matrix is None:
        weight = context.constants.filled((conv.groups, packed_columns(outs), share * taps), x.dtype, fill)
    else:
        weight = packed_matrix(context, conv.node, matrix, conv.epilogue.scale)
    tiles = product_tiles(conv, context.parallelism.product_jobs(conv.macs, several=True), size)
    geometry, epilogue = windows_of(conv), conv.epilogue

    def compute(tile: ConvTile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        region, channels = tile
        yield product(
            x.array()[region.first : region.end],
            weight.array()[:, channels.start :],
            result,
            buffers["taps"],
            first=region.top,
            counts=(region.height, *conv.counts[1:]),
            geometry=geometry,
            epilogue=epilogue.arguments(result, conv.pixels(region), channels) if epilogue.compiled else None,
        )

    most = max(windows_in(conv, tile) for tile in tiles)
    emit_tiles(
        context,
        conv.node,
        reads=(x, weight, *epilogue.reads),
        out=conv.out_rows,
        tiles=tiles,
        index=lambda tile: (conv.pixels(tile.region), tile.channels),
        compute=compute,
        buffers={"taps": (step_of(most) * taps, ADDRESS)},
        epilogue=None if epilogue.compiled else epilogue,
        products=True,
    )


def _fill_matrix(
    constants: Constants, node: GraphNode, name: str, panels: Array, columns: int, scale: Array | None
) -> None:
    """Fill panels with the filters that a parameter has as (filters, depth), each multiplied by its ``scale``."""
    depth = panels.shape[-1]
    if not constants.is_transposed(node, name):
        filters = filters_in(panels, columns)
        constants.write(node, name, filters.reshape(constants.shape(node, name)))
        if scale is not None:
            filters *= scale.astype(filters.dtype)[:, None]
        pack(panels, columns)
        return
    buffer = np.empty((max(1, PIECE // (columns * panels.itemsize)), columns), panels.dtype)
    for start in range(0, depth, len(buffer)):
        rows = buffer[: depth - start]
        constants.write_columns(node, name, rows.T, start)
        if scale is not None:
            rows *= scale.astype(rows.dtype)
        pack_columns(panels, rows, columns, start)


def _has_runs(context: LoweringContext, conv: Convolution) -> bool:
    return use_runs(conv, context.tuning.packed_run) and not conv.node.constant
