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

from netcalc.numerics.kernels import Array

__all__ = ["Chunks", "blocks", "chunks"]

#: Multiply-adds of a block.
_MOST = 1_000_000
#: The narrowest block of columns, and the fewest rows, that are worth their calls.
_COLUMNS, _ROWS = 32, 64
#: Up to so many rows blocks win even against several threads.
_FEW = 32


def blocks(rows: int, depth: int, columns: int, threads: int = 1) -> tuple[int, int]:
    """(rows, columns) of the blocks in which a product is done; the whole where that is best.

    >>> blocks(49, 256, 256)
    (49, 64)
    >>> blocks(784, 64, 64)
    (196, 64)
    """
    if rows * depth * columns > _MOST and (threads == 1 or rows <= _FEW):
        width = _divisor(columns, _MOST // (rows * depth))
        if width >= _COLUMNS:
            return rows, width
        height = _divisor(rows, _MOST // (depth * columns))
        if height >= _ROWS:
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


def chunks(rows: int, depth: int, columns: int, threads: int) -> Chunks | None:
    """The chunks in which a product of few rows is done; None where the whole is better.

    >>> chunks(49, 4608, 512, 1)
    Chunks(depth=288, columns=64)
    """
    if threads > 1 or rows > _ROWS or rows * depth * columns <= _MOST:
        return None
    across = _divisor(columns, 2 * _COLUMNS)
    each = _divisor(depth, _MOST // (rows * across))
    if across < _COLUMNS or each < 2 * _COLUMNS:
        return None
    return Chunks(each, _divisor(columns, _MOST // (rows * each)))


def _divisor(total: int, most: int) -> int:
    """The largest divisor of ``total`` that is at most ``most``; 0 if there is none."""
    return next((size for size in range(min(most, total), 0, -1) if total % size == 0), 0)
