"""Products so small that BLAS does not pack their matrices first.

Before it multiplies, a BLAS copies both matrices into the order in which it reads them, which for few rows takes as
long as the product.  OpenBLAS leaves that out where a product is of at most a million multiply-adds (its kernels for
small matrices, on processors with AVX-512), and larger products go faster in blocks of that size.  Where it has no
such kernels the blocks cost a few per cent.  With more threads than one it shares out the whole product better.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["Chunks", "blocks", "chunks"]


def blocks(rows: int, depth: int, columns: int, threads: int, tuning: Tuning) -> tuple[int, int]:
    """Return (rows, columns) of the blocks into which a product is cut; of the whole where that is faster.

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
    """A product of few rows as a sum of products over ``depth`` places each, on ``columns`` at a time."""

    depth: int
    columns: int

    def shape(self, depth: int, columns: int) -> tuple[int, int, int, int]:
        """(chunks of depth, blocks of columns, depth of a chunk, columns of a block)."""
        return depth // self.depth, columns // self.columns, self.depth, self.columns

    def room(self, rows: int, depth: int, columns: int) -> int:
        """The elements of scratch that a product takes."""
        return rows * columns * (depth // self.depth) if depth > self.depth else 0

    def arranged(self, matrix: Array) -> Array:
        """A matrix (depth, columns) in this shape."""
        depth, columns = matrix.shape
        return matrix.reshape(depth // self.depth, self.depth, columns // self.columns, self.columns).swapaxes(1, 2)

    def part(self, arranged: Array, columns: slice) -> Array:
        """Some columns of a matrix in this shape, which whole blocks make up."""
        return arranged[:, columns.start // self.columns : columns.stop // self.columns]

    def product(self, x: Array, arranged: Array, y: Array, scratch: Array) -> Iterator[partial[object]]:
        """Passes that compute ``y`` from ``x`` of (rows, depth); the scratch array has room for a result a chunk."""
        rows, pieces = len(x), len(arranged)
        parts = y[None] if pieces == 1 else scratch[: pieces * y.size].reshape(pieces, *y.shape)
        goals = parts.reshape(pieces, rows, -1, self.columns).swapaxes(1, 2)
        yield partial(np.matmul, x.reshape(rows, pieces, 1, self.depth).transpose(1, 2, 0, 3), arranged, goals)
        if pieces > 1:
            yield partial(np.add.reduce, parts, 0, None, y)


def chunks(rows: int, depth: int, columns: int, threads: int, tuning: Tuning) -> Chunks | None:
    """Return the chunks into which a product of few rows is cut; None where the whole is faster.

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
    """The largest divisor of ``total`` that is at most ``most``; 0 if there is none."""
    return next((size for size in range(min(most, total), 0, -1) if total % size == 0), 0)
