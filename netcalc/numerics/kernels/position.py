"""Kernels of :mod:`netcalc.ops.position`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, initial_table, kernel
from netcalc.ops.position import LearnedPositions, SinusoidalPositions


@initial_table("sinusoidal_positions")
def sinusoids(op: SinusoidalPositions, name: str, shape: tuple[int, ...]) -> Array:
    length, features = shape
    half = features / 2 if op.layout == "interleaved" else features // 2
    exponents = np.arange(features - features // 2) / max(half - op.downscale_freq_shift, 0.5)
    angles = np.arange(length)[:, None] / op.base**exponents
    table = np.zeros(shape)
    if op.layout == "interleaved":
        table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles[:, : features // 2])
    else:  # an odd last feature stays zero
        half = features // 2
        table[:, :half], table[:, half : 2 * half] = np.sin(angles[:, :half]), np.cos(angles[:, :half])
    return table


@kernel("sinusoidal_positions")
def sinusoidal_positions(op: SinusoidalPositions, run: Run, x: Array, **tables: Array) -> Array:
    (table,) = tables.values()
    return _positions(op, x, table)


@kernel("learned_positions")
def learned_positions(op: LearnedPositions, run: Run, x: Array, *, weight: Array) -> Array:
    return _positions(op, x, weight)


def _positions(op: SinusoidalPositions | LearnedPositions, x: Array, table: Array) -> Array:
    rows = table[op.offset : op.offset + x.shape[-2]].astype(x.dtype, copy=False)
    return x + rows if op.add else rows
