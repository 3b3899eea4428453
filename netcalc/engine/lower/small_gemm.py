"""Products cut into blocks that are so small that BLAS does not pack their operands.

Before it multiplies, a BLAS packs both matrices into the order in which its kernel reads them.  For few rows that takes
as long as the product.  OpenBLAS does not pack products of at most a million multiply-adds (its small-matrix kernels,
on processors with AVX-512), so larger products are faster in blocks of that size.  Where it has no such kernels, the
blocks cost a few per cent.  With more than one thread BLAS shares a whole product better.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.passes import Pass
from netcalc.engine.tuning import Tuning


def blocks(rows: int, depth: int, columns: int, threads: int, tuning: Tuning) -> tuple[int, int]:
    """Return (rows, columns) of the blocks into which a product is cut; its own sizes if cutting does not pay.

    >>> blocks(49, 256, 256, 1, Tuning())
    (49, 64)
    >>> blocks(784, 64, 64, 1, Tuning())
    (196, 64)
    """
    macs = tuning.small_gemm_macs
    small = tuning.small_gemm and (threads == 1 or rows <= tuning.small_gemm_threaded_rows)
    if small and rows * depth * columns > macs:
        width = _divisor(columns, macs // (rows * depth))
        if width >= tuning.small_gemm_columns:
            return rows, width
        height = _divisor(rows, macs // (depth * columns))
        if height >= tuning.small_gemm_rows:
            return height, columns
    return rows, columns


class Chunks(NamedTuple):
    """Cut of a product of few rows: a sum of products of this ``depth``, on blocks of so many ``columns``."""

    depth: int
    columns: int

    def shape(self, depth: int, columns: int) -> tuple[int, int, int, int]:
        """Return (chunks, blocks of columns, depth of a chunk, columns of a block)."""
        return depth // self.depth, columns // self.columns, self.depth, self.columns

    def buffer_elements(self, rows: int, depth: int, columns: int) -> int:
        """Return the elements of the scratch buffer of a product."""
        return rows * columns * (depth // self.depth) if depth > self.depth else 0

    def arranged(self, matrix: Array) -> Array:
        """Return a matrix (depth, columns) as an array of :meth:`shape`."""
        depth, columns = matrix.shape
        return matrix.reshape(depth // self.depth, self.depth, columns // self.columns, self.columns).swapaxes(1, 2)

    def part(self, arranged: Array, columns: slice) -> Array:
        """Return a range of columns of an arranged matrix; it consists of whole blocks."""
        return arranged[:, columns.start // self.columns : columns.stop // self.columns]

    def product(self, x: Array, arranged: Array, out: Array, buffer: Array) -> Iterator[Pass]:
        """Yield passes that compute ``out`` from ``x`` of (rows, depth); the buffer holds the product of each chunk."""
        rows, count = len(x), len(arranged)
        products = out[None] if count == 1 else buffer[: count * out.size].reshape(count, *out.shape)
        blocks = products.reshape(count, rows, -1, self.columns).swapaxes(1, 2)
        yield partial(np.matmul, x.reshape(rows, count, 1, self.depth).transpose(1, 2, 0, 3), arranged, blocks)
        if count > 1:
            yield partial(np.add.reduce, products, 0, None, out)


def chunks(rows: int, depth: int, columns: int, threads: int, tuning: Tuning) -> Chunks | None:
    """Return the chunks into which a product of few rows is cut; None if cutting does not pay.

    >>> chunks(49, 4608, 512, 1, Tuning())
    Chunks(depth=288, columns=64)
    """
    macs, least = tuning.small_gemm_macs, tuning.small_gemm_columns
    if not tuning.small_gemm or threads > 1 or rows > tuning.small_gemm_rows or rows * depth * columns <= macs:
        return None
    width = _divisor(columns, 2 * least)
    if width < least:
        return None
    height = _divisor(depth, macs // (rows * width))
    if height < 2 * least:
        return None
    return Chunks(height, _divisor(columns, macs // (rows * height)))


def _divisor(total: int, most: int) -> int:
    """Return the largest divisor of ``total`` that is at most ``most``; 0 if there is none."""
    return next((size for size in range(min(most, total), 0, -1) if total % size == 0), 0)
