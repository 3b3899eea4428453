"""Matrix products (GEMM), tile by tile, with an epilogue on each tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.small_gemm import Chunks
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers, cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning

#: (rows, columns) of a tile.
Tile: TypeAlias = tuple[slice, slice]


def _job_tiles(rows: int, depth: int, columns: int, jobs: int, stages: int, tuning: Tuning) -> list[Tile]:
    """Cut a product by rows or columns so that its jobs pack least: each job packs the entire other matrix.

    The rows of a tile of columns have gaps, for which each of the ``stages`` of an epilogue takes time.
    """
    unit = tuning.gemm_share_unit if max(rows, columns) >= jobs * 4 * tuning.gemm_share_unit else 1
    enough = rows >= jobs * tuning.gemm_tile_rows
    if rows > columns or (enough and depth * columns < rows * (depth + stages * tuning.gemm_gap_elements)):
        return [(slice(*part), slice(0, columns)) for part in cuts(rows, jobs, unit)]
    return [(slice(0, rows), slice(*part)) for part in cuts(columns, jobs, unit)]


def _cache_tiles(tile: Tile, tuning: Tuning) -> list[Tile]:
    """Cut a tile into tiles of nearly equal size that fit the cache.

    Rows are cut first, unless that leaves too few in a tile: the other matrix is packed again for every tile of rows.
    """
    (top, bottom), (left, right) = ((side.start, side.stop) for side in tile)
    rows, columns = bottom - top, right - left
    by_rows = by_columns = 1
    while (rows // by_rows) * (columns // by_columns) > tuning.gemm_tile_elements:
        if rows // by_rows >= 4 * tuning.gemm_tile_rows:
            by_rows += 1
        elif columns // by_columns >= 8 * tuning.gemm_tile_rows:
            by_columns += 1
        else:
            break
    return [
        (slice(top + first, top + end), slice(left + start, left + stop))
        for start, stop in cuts(columns, by_columns)
        for first, end in cuts(rows, by_rows)
    ]


def chunk_tiles(rows: int, columns: int, jobs: int, tuning: Tuning) -> Iterator[list[Tile]]:
    """Yield the ways to share a product of few rows: by rows, which the next step shares alike, or else by columns.

    >>> next(chunk_tiles(49, 96, 2, Tuning()))
    [(slice(0, 24, None), slice(0, 96, None)), (slice(24, 49, None), slice(0, 96, None))]
    """
    if jobs * tuning.gemm_share_unit <= rows <= tuning.small_gemm_rows:
        yield [(slice(*part), slice(0, columns)) for part in cuts(rows, jobs)]
    yield [(slice(0, rows), slice(*part)) for part in cuts(columns, jobs if columns % jobs == 0 else 1)]


def emit_product(
    context: LoweringContext, node: GraphNode, x: Slot, other: Slot, out: Slot, epilogue: Epilogue
) -> None:
    """Emit ``x`` · ``other``, of (rows, depth) and (depth, columns)."""
    rows, columns = out.shape
    x, other = context.emit.widened(node, x), context.emit.widened(node, other)
    jobs = context.parallelism.product_jobs(rows * columns * x.shape[1], several=True)
    tiles = _job_tiles(rows, x.shape[1], columns, jobs, epilogue.stages, context.tuning)
    if out.dtype != x.dtype or not epilogue.empty:
        tiles = [part for tile in tiles for part in _cache_tiles(tile, context.tuning)]

    def compute(tile: Tile, result: Array, buffers: Buffers) -> list[Pass]:
        rows, columns = tile
        return [partial(np.matmul, x.array()[rows], other.array()[:, columns], result)]

    emit_tiles(
        context,
        node,
        reads=(x, other),
        out=out,
        tiles=tiles,
        index=lambda tile: tile,
        compute=compute,
        epilogue=epilogue,
        products=True,
    )


def emit_chunked_product(
    context: LoweringContext,
    node: GraphNode,
    x: Slot,
    load: Callable[[], Array],
    chunks: Chunks,
    out: Slot,
    epilogue: Epilogue,
    tiles: Sequence[Tile],
) -> None:
    """Emit a product of few rows with a constant matrix, which ``load`` computes, as a sum of small products.

    The columns of a tile consist of whole blocks.
    """
    depth, columns = x.shape[1], out.shape[1]
    shape = chunks.shape(depth, columns)
    matrix = context.constants.derived(shape, x.dtype, lambda: chunks.arranged(load()))

    def compute(tile: Tile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        rows, part = tile
        return chunks.product(x.array()[rows], chunks.part(matrix.array(), part), result, buffers["partial sums"])

    sizes = [chunks.buffer_elements(rows.stop - rows.start, depth, part.stop - part.start) for rows, part in tiles]
    emit_tiles(
        context,
        node,
        reads=(x, matrix),
        out=out,
        tiles=tiles,
        index=lambda tile: tile,
        compute=compute,
        buffers={"partial sums": max(sizes)},
        epilogue=epilogue,
        products=True,
    )
