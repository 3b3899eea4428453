"""Numbers of EETQ: bytes in the order in which kernels for tensor cores read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array

#: Inputs of a tile, and rows (outputs) whose tiles alternate.
_TILE, _INTERLEAVED = 64, 2
#: Inputs of a group of 16 in their order, and the bytes of a word.
_INPUTS = [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]
_BYTES = [0, 2, 1, 3]


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return code·scale of ``.weight`` and ``.weight_scales`` (rows).

    The shape of ``.weight`` is that of the transposed matrix, (columns, rows), and not the order of its bytes: tiles
    of 64 inputs, of two rows in turn, permuted within 16, and the codes plus 128.  This is the order of GPUs of
    compute capability 7.5 and later.

    Source: EETQ 1.0.1, csrc/cutlass_kernels/cutlass_preprocessors.cc (preprocess_weights_for_mixed_gemm).
    """
    rows, columns = shape
    if rows % _TILE or columns % _TILE:
        raise ValueError(f"{rows} rows and {columns} columns are no tiles of {_TILE}")
    stored = np.ascontiguousarray(tensors[".weight"]).view(np.uint8)
    ordered = stored.reshape(-1, len(_BYTES))[:, _BYTES]
    tiles = ordered.reshape(rows // _INTERLEAVED, columns // _TILE, _INTERLEAVED, _TILE).swapaxes(1, 2)
    groups = tiles.reshape(rows, -1, len(_INPUTS))[..., np.argsort(_INPUTS)]
    codes = groups.reshape(rows, columns).astype(np.float32) - np.float32(128)
    return codes * tensors[".weight_scales"].astype(np.float32)[:, None]
