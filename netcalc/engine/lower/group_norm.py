"""Normalization by the statistics of groups of channels, or of single channels, of each sample.

Pixels lie as rows of channels.  The first step sums columns, the second one centers rows and sums their squares, the
third one scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.broadcast import across, across_computed, rows_at_once
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.elementwise import lower_elementwise
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.norm import affine_vector
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles, strips
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot


class _Tile(NamedTuple):
    """A strip of the pixels of a sample, and its number among the strips."""

    sample: int
    strip: int
    pixels: slice


@dataclass(frozen=True, slots=True)
class _Operands:
    """Slots of the steps.

    ``x``, ``centered`` and ``out`` are (samples, pixels, channels); ``centered`` is ``out`` unless its type is narrow.
    ``sums`` and ``squares`` are (samples, strips, channels): sums of each strip.
    """

    x: Slot
    centered: Slot
    out: Slot
    sums: Slot
    squares: Slot
    ones: Slot
    groups: int
    tiles: list[_Tile]

    def mean(self, totals: Slot, sample: int) -> Array:
        """Return the mean of each group for each of its channels, from the sums of the strips."""
        strips = totals.array()[sample]
        _, pixels, channels = self.x.shape
        share = channels // self.groups
        by_group = np.add.reduce(strips.reshape(-1, self.groups, share), axis=(0, 2))
        return np.repeat(by_group / strips.dtype.type(pixels * share), share)


@lowering("group_norm", "instance_norm")
def lower_group_norm(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the three steps of a group or instance normalization."""
    op, operand, result = node.op, node.operand, node.outputs[0]
    rank = len(operand.shape)
    if any(tensor is not None for tensor in node.inputs[1:]):  # the passes take constants
        return False
    if op.normalizes_channels and not op.own_statistics(False):
        return lower_elementwise(context, node)
    if 0 in operand.shape or rank < 3:
        return False
    samples, channels = operand.shape[:2]
    order = (0, *range(2, rank), 1)
    pixels = math.prod(operand.shape[2:])
    layout, emit, dtype = context.layout, context.emit, compute_dtype(result.dtype)
    shape = (samples, pixels, channels)
    x = emit.rows(node, emit.widened(node, layout.slot(operand)), order).reshaped(shape)
    out = layout.allocate(result, order).permuted(order).reshaped(shape)
    assert x is not None and out is not None
    centered = out if out.dtype == dtype else layout.temporary(shape, dtype)
    share = replace(context.parallelism, threads=-(-context.parallelism.threads // samples))
    parts = strips(pixels, pixels * channels, share)
    tiles = [_Tile(sample, n, slice(*part)) for sample in range(samples) for n, part in enumerate(parts)]
    sums, squares = (layout.temporary((samples, len(parts), channels), dtype) for _ in range(2))
    ones = context.constants.ones(max(end - start for start, end in parts), dtype)
    groups = op.groups if op.name == "group_norm" else channels
    operands = _Operands(x, centered, out, sums, squares, ones, groups, tiles)
    _emit_sums(context, node, operands)
    _emit_centered(context, node, operands)
    _emit_scaled(context, node, operands)
    return True


def _emit_sums(context: LoweringContext, node: GraphNode, operands: _Operands) -> None:
    x, ones = operands.x, operands.ones

    def compute(tile: _Tile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        rows = x.array()[tile.sample, tile.pixels]
        yield partial(np.matmul, ones.array()[: len(rows)], rows, result)

    emit_tiles(
        context,
        node,
        reads=(x, ones),
        out=operands.sums,
        tiles=operands.tiles,
        index=lambda tile: (tile.sample, tile.strip),
        compute=compute,
    )


def _emit_centered(context: LoweringContext, node: GraphNode, operands: _Operands) -> None:
    x, ones, sums, squares = operands.x, operands.ones, operands.sums, operands.squares
    channels, tuning = x.shape[2], context.tuning

    def compute(tile: _Tile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        rows = x.array()[tile.sample, tile.pixels]
        square = buffers.view("squares", result.shape)
        mean = partial(operands.mean, sums, tile.sample)
        yield from across_computed(np.subtract, rows, result, mean, buffers["pattern"], tuning)
        yield partial(np.multiply, result, result, square)
        yield partial(np.matmul, ones.array()[: len(result)], square, squares.array()[tile.sample, tile.strip])

    emit_tiles(
        context,
        node,
        reads=(x, ones, sums),
        out=operands.centered,
        writes=(squares,),
        tiles=operands.tiles,
        index=lambda tile: (tile.sample, tile.pixels),
        compute=compute,
        buffers={"pattern": rows_at_once(channels, tuning) * channels, "squares": ones.elements * channels},
    )


def _emit_scaled(context: LoweringContext, node: GraphNode, operands: _Operands) -> None:
    """Emit the step that scales in place and, if the result has a narrow type, rounds into it."""
    centered, out, squares = operands.centered, operands.out, operands.squares
    channels, tuning, kind = out.shape[2], context.tuning, centered.dtype.type
    weight, bias = (affine_vector(context, node, name, channels) for name in ("weight", "bias"))
    if bias is not None:
        context.repeat(bias, operands.x.elements // channels)

    def compute(tile: _Tile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        def factor() -> Array:
            root: Array = 1 / np.sqrt(operands.mean(squares, tile.sample) + kind(node.op.eps))
            return root if weight is None else root * weight.array()

        yield from across_computed(np.multiply, result, result, factor, buffers["pattern"], tuning)
        if bias is not None:
            yield across(np.add, result, result, bias.array(), tuning)
        if centered is not out:
            yield partial(np.copyto, out.array()[tile.sample, tile.pixels], result, casting="unsafe")

    emit_tiles(
        context,
        node,
        reads=(centered, squares, *(slot for slot in (weight, bias) if slot is not None)),
        out=centered,
        writes=(out,),
        tiles=operands.tiles,
        index=lambda tile: (tile.sample, tile.pixels),
        compute=compute,
        buffers={"pattern": rows_at_once(channels, tuning) * channels},
    )
