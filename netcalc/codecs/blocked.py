"""Scales in blocks of 128 rows by 4 columns, as the tensor cores of NVIDIA's Blackwell read them.

Source: cuBLAS 12.9, section 3.1.5.2, "1D Block Scaling Factors Layout".
"""

from __future__ import annotations

from netcalc.arrays import Array

_ROWS, _COLUMNS, _LANES = 128, 4, 32


def unblocked(scales: Array, rows: int, columns: int) -> Array:
    """Return scales of shape (rows, columns) from their blocks, of which each row has 16: 4 columns of rows 32 apart.

    Rows and columns are padded to whole blocks.
    """
    tall, wide = -(-rows // _ROWS), -(-columns // _COLUMNS)
    blocks = scales.reshape(tall, wide, _LANES, _ROWS // _LANES, _COLUMNS)
    whole: Array = blocks.transpose(0, 3, 2, 1, 4).reshape(tall * _ROWS, wide * _COLUMNS)
    return whole[:rows, :columns]
