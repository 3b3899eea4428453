"""Numbers of VPTQ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.planes import unpack_words

_INDICES, _OUTLIERS = ".indices", ".outlier_centroids.weight"


def weight(
    tensors: Mapping[str, Array], shape: tuple[int, ...], vectors: Sequence[int], rests: int, group: int
) -> Array:
    """Return vectors of rows of a column, for groups of columns: a centroid, and perhaps one for what it leaves.

    The first columns may be outliers with centroids of their own.  Columns are in an order of their own, and have a
    scale and a bias.  All is computed in the type of the centroids, as in the library.

    Args:
        tensors: ``.indices`` (groups, vectors, words) of the bits of an index and above it those of the rest, and the
            tables of centroids (groups, numbers).
        shape: (rows, columns).
        vectors: rows of a vector of outliers, and of others.
        rests: centroids of rests; without these less than 1.
        group: columns of a group.

    Source: vptq 0.0.5, ops/quant_gemm.dequant and utils/pack.unpack_index_tensor.

    Raises:
        ValueError: indices are beyond the centroids, or the columns in no order.
    """
    rows, columns = shape
    length = vectors[1]
    centroids = tensors[".centroids.weight"].reshape(len(tensors[_INDICES]), -1, length)
    bits, rest_bits = _bits(centroids.shape[1]), _bits(rests) if rests > 0 else 0
    indices = unpack_words(tensors[_INDICES], bits + rest_bits, group).astype(np.int64)
    numbers = _selected(centroids, indices & ((1 << bits) - 1), rows)
    if rest_bits:
        numbers = numbers + _selected(
            tensors[".res_centroids.weight"].reshape(len(centroids), -1, length), indices >> bits, rows
        )
    if _OUTLIERS in tensors:
        places = tensors[".outlier_indices"].view(np.uint16).astype(np.int64)
        outliers = _selected(tensors[_OUTLIERS].reshape(1, -1, vectors[0]), places, rows)
        numbers = np.concatenate([outliers, numbers], axis=1)
    if ".perm" in tensors:
        order = tensors[".perm"].astype(np.int64) & 0xFFFF
        if not np.array_equal(np.sort(order), np.arange(columns)):
            raise ValueError("perm is no order of the columns")
        numbers = numbers[:, np.argsort(order)]
    if ".weight_scale" in tensors:
        numbers = numbers * tensors[".weight_scale"] + tensors[".weight_bias"]
    return numbers


def _bits(centroids: int) -> int:
    bits = centroids.bit_length() - 1
    if centroids != 1 << bits:
        raise ValueError(f"{centroids:,} centroids are no power of 2")
    return bits


def _selected(centroids: Array, indices: Array, rows: int) -> Array:
    """Return numbers of shape (rows, groups · columns of a group) by indices (groups, vectors, columns)."""
    if indices.size and indices.max() >= centroids.shape[1]:
        raise ValueError(f"an index is {indices.max():,}, and there are {centroids.shape[1]:,} centroids")
    groups = np.arange(len(centroids)).reshape(-1, 1, 1)
    numbers: Array = centroids[groups, indices].transpose(1, 3, 0, 2)
    return numbers.reshape(-1, len(centroids) * indices.shape[2])[:rows]
