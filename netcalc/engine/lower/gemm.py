"""Rows times a matrix, tile by tile, with an epilogue on each tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering
from netcalc.engine.lower.epilogue import Epilogue, Pass
from netcalc.engine.lower.small_gemm import Chunks
from netcalc.engine.step import Job, Scratch, Step, cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["emit_few", "emit_product"]

Tile: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


def shared(rows: int, columns: int, shares: int, unit: int) -> list[Tile]:
    """((first row, end), (first column, end)) of each share.

    They are of the longer side, so that of the other matrix, which each share packs for itself, there is less.
    """
    unit = unit if max(rows, columns) >= shares * 4 * unit else 1
    if columns >= rows:
        return [((0, rows), part) for part in cuts(columns, shares, unit)]
    return [(part, (0, columns)) for part in cuts(rows, shares, unit)]


def tiled(share: Tile, tuning: Tuning) -> list[Tile]:
    """A share in tiles of much the same size.

    Rows are cut first, unless that leaves too few in a tile: a matrix is packed anew for every tile of rows.
    """
    (top, bottom), (left, right) = share
    rows, columns = bottom - top, right - left
    by_rows = by_columns = 1
    while (rows // by_rows) * (columns // by_columns) > tuning.gemm_tile_elements:
        if rows // by_rows >= 4 * tuning.gemm_tile_rows:
            by_rows += 1
        elif columns // by_columns >= 8 * tuning.gemm_tile_rows:
            by_columns += 1
        else:
            break
    across, down = cuts(columns, by_columns), cuts(rows, by_rows)
    return [((top + r, top + s), (left + c, left + d)) for c, d in across for r, s in down]


def emit_product(low: Lowering, node: Node, x: Slot, other: Slot, out: Slot, epilogue: Epilogue) -> None:
    """A step that computes ``x``·``other``, of (rows, depth) and (depth, columns)."""
    rows, columns = out.shape
    x, other = low.wide(node, x), low.wide(node, other)
    scratch: list[Scratch] = list(epilogue.scratch)
    narrow = out.dtype != x.dtype
    tiles = shared(rows, columns, low.parallelism.product_jobs(rows * columns * x.shape[1]), low.tuning.gemm_share_unit)
    if narrow or not epilogue.empty:
        tiles = [tile for share in tiles for tile in tiled(share, low.tuning)]
    if narrow:
        height, width = (max(end - start for start, end in sides) for sides in zip(*tiles, strict=True))
        scratch.append(((height * width,), x.dtype))

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        (top, bottom), (left, right) = tiles[index]
        goal = out.array()[top:bottom, left:right]
        y = arrays[-1][: goal.size].reshape(goal.shape) if narrow else goal
        passes: list[Pass] = [partial(np.matmul, x.array()[top:bottom], other.array()[:, left:right], y)]
        return epilogue.finish(passes, y, goal, slice(top, bottom), slice(left, right), arrays)

    low.emit(Step(node, (x, other, *epilogue.reads), (out,), len(tiles), bind, scratch, products=True))


def emit_few(
    low: Lowering,
    node: Node,
    x: Slot,
    load: Callable[[], Array],
    split: Chunks,
    out: Slot,
    epilogue: Epilogue,
    shares: int,
) -> None:
    """A step for few rows, as a sum of small products with a constant matrix that ``load`` gives.

    The columns are in that many shares, each of whole blocks.
    """
    (rows, depth), (_, columns) = x.shape, out.shape
    parts = cuts(columns, shares)
    matrix = low.made(split.shape(depth, columns), x.dtype, lambda: split.arranged(load()))
    narrow = out.dtype != x.dtype
    sizes = [split.room(rows, depth, columns // shares), rows * columns // shares if narrow else 0]
    scratch: list[Scratch] = [*epilogue.scratch, *(((size,), x.dtype) for size in sizes)]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        *_, sums, wide = arrays
        place = slice(*parts[index])
        goal = out.array()[:, place]
        y = wide.reshape(goal.shape) if narrow else goal
        passes: list[Pass] = list(split.product(x.array(), split.part(matrix.array(), place), y, sums))
        return epilogue.finish(passes, y, goal, slice(0, rows), place, arrays)

    low.emit(Step(node, (x, matrix, *epilogue.reads), (out,), len(parts), bind, scratch, products=True))
