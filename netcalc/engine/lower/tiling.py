"""Tile driver: steps whose jobs each compute one tile of the result.

A lowering says how the result is cut and gives the passes that compute a tile.  The driver adds the rest: scratch
buffers, the epilogue, and for float16 and bfloat16 a buffer of float32 that is rounded into place at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.parallelism import Parallelism
from netcalc.engine.lower.passes import Pass, Passes
from netcalc.engine.step import Buffers, BufferSpec, Job, Step, cuts
from netcalc.engine.storage import Slot

T = TypeVar("T")

#: Index of a tile in the result; (rows, columns) if there is an epilogue.
Index: TypeAlias = tuple[int | slice, ...]

#: Scratch buffer in which a tile of a narrow type is computed.
_WIDE = "wide tile"


def strips(count: int, elements: int, parallelism: Parallelism) -> list[tuple[int, int]]:
    """Return (start, end) of strips of ``count`` rows that have so many elements in all.

    There is a multiple of as many strips as a pass over them has jobs.
    """
    jobs = parallelism.pass_jobs(elements)
    pieces = -(-elements // parallelism.tuning.strip_elements)
    return cuts(count, -(-pieces // jobs) * jobs)


def emit_jobs(
    context: LoweringContext,
    node: GraphNode,
    *,
    reads: Sequence[Slot],
    writes: Sequence[Slot],
    jobs: Sequence[T],
    bind: Callable[[T, Buffers], Job],
    buffers: Mapping[str, BufferSpec] | None = None,
    rounds: int | None = None,
    products: bool = False,
) -> None:
    """Emit a step of one job for each of ``jobs``; ``bind`` makes it, given the worker's scratch buffers."""

    def bind_number(number: int, scratch: Buffers) -> Job:
        return bind(jobs[number], scratch)

    step = Step(node, reads, writes, len(jobs), bind_number, buffers or {}, rounds=rounds, products=products)
    context.emit.step(step)


def emit_tiles(
    context: LoweringContext,
    node: GraphNode,
    *,
    reads: Sequence[Slot],
    out: Slot,
    tiles: Sequence[T],
    index: Callable[[T], Index],
    compute: Callable[[T, Array, Buffers], Iterable[Pass]],
    source: Callable[[T], Array] | None = None,
    buffers: Mapping[str, int | BufferSpec] | None = None,
    epilogue: Epilogue | None = None,
    writes: Sequence[Slot] = (),
    products: bool = False,
) -> None:
    """Emit a step of one job for each tile.

    Args:
        reads: slots that the jobs read; the slots that the epilogue reads are added.
        out: the result.
        tiles: descriptions of the tiles, in whatever form ``index`` and ``compute`` take.
        index: gives the index of a tile in the array of ``out``.
        compute: gives the passes that compute a tile, into an array of the tile's shape and of the type of arithmetic.
        source: gives an array of the tile's shape whose elements the epilogue reads, instead of what is computed.
        buffers: names and sizes of scratch buffers, in elements of the type of arithmetic unless one is given.
        epilogue: operations done on each tile at the end.
        writes: slots that the jobs write besides ``out``.
        products: True if the jobs are products (see :class:`Step`).
    """
    dtype = compute_dtype(out.dtype)
    narrow = out.dtype != dtype
    scratch: dict[str, BufferSpec] = {} if epilogue is None else dict(epilogue.buffers)
    scratch.update({name: (size, dtype) if isinstance(size, int) else size for name, size in (buffers or {}).items()})
    if narrow:
        scratch[_WIDE] = (max(_elements(out.shape, index(tile)) for tile in tiles), dtype)

    def bind(tile: T, arrays: Buffers) -> Job:
        place = index(tile)
        target = out.array()[place]
        result = arrays.view(_WIDE, target.shape) if narrow else target
        passes = list(compute(tile, result, arrays))
        if epilogue is not None:
            rows, columns = place
            assert isinstance(rows, slice) and isinstance(columns, slice)
            passes += epilogue.bind(result, rows, columns, arrays, None if source is None else source(tile))
        if narrow:
            passes.append(partial(np.copyto, target, result, casting="unsafe"))
        return Passes(passes)

    reads = (*reads, *(() if epilogue is None else epilogue.reads))
    writes = (out, *writes)
    emit_jobs(context, node, reads=reads, writes=writes, jobs=tiles, bind=bind, buffers=scratch, products=products)


def _elements(shape: Sequence[int], index: Index) -> int:
    """Return the number of elements at an index of an array of this shape."""
    lengths = [
        len(range(*part.indices(size))) if isinstance(part, slice) else 1
        for size, part in zip(shape, index, strict=False)
    ]
    return math.prod([*lengths, *shape[len(index) :]])
