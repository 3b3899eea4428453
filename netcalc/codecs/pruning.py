"""Removal of the smallest elements, and the index of those that are kept."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import Shape, SparseCodec, Tensors
from netcalc.codecs.planes import pack_words, unpack_words
from netcalc.opdef import Sparsity


def kept(values: Array, sparsity: Sparsity) -> Array:
    """Return True for the elements that stay: the greatest magnitudes of the tensor, or of a few neighbours.

    Of equal ones the first stay.
    """
    size = np.abs(values)
    if sparsity.pattern is not None:
        keep, of = sparsity.pattern
        groups = size.reshape(-1, of)
        order = np.argsort(-groups, axis=-1, kind="stable")[:, :keep]
        mask = np.zeros(groups.shape, bool)
        np.put_along_axis(mask, order, True, axis=-1)
        return mask.reshape(values.shape)
    removed, flat = values.size * sparsity.zeros.numerator // sparsity.zeros.denominator, size.reshape(-1)
    if removed == values.size:
        return np.zeros(values.shape, bool)
    least = np.partition(flat, removed)[removed]
    staying: Array = flat > least
    staying[np.flatnonzero(flat == least)[: values.size - removed - int(staying.sum())]] = True
    return staying.reshape(values.shape)


def encode_sparse(codec: SparseCodec, values: Array, sparsity: Sparsity) -> Tensors:
    """Return the stored arrays without the elements that are removed, and their index."""
    mask = kept(values, sparsity)
    dense = codec.encode(np.where(mask, values, values.dtype.type(0)))
    codes = codec.codes(dense["values"], _shape(values))[mask.reshape(-1)]
    return {**dense, "values": codec.packed(codes), **_index(mask, sparsity.layout)}


def decode_sparse(codec: SparseCodec, tensors: Tensors, shape: Shape, sparsity: Sparsity) -> Array:
    """Return the values that stored arrays without removed elements stand for."""
    mask = _mask(tensors, shape, sparsity)
    values = codec.unpacked(tensors["values"], int(mask.sum()))
    codes = np.zeros(mask.size, values.dtype)
    codes[mask.reshape(-1)] = values
    dense = codec.decode({**tensors, "values": codec.stored(codes, shape)}, shape)
    return np.where(mask, dense, dense.dtype.type(0))


def _shape(values: Array) -> Shape:
    matrices, rows, columns = values.shape
    return matrices, rows, columns


def _index(mask: Array, layout: str) -> Tensors:
    if layout == "bitmap":
        return {"index": np.packbits(mask.reshape(-1), bitorder="little")}
    if layout == "pairs":
        places = np.nonzero(mask.reshape(-1, 4))[1]
        packed: Array = pack_words(places, 2).view(np.uint8)
        return {"index": packed[: -(-len(places) // 4)]}
    lines = mask.reshape(mask.shape[0], mask.shape[1], -1)
    starts = np.zeros((len(lines), lines.shape[1] + 1), np.int32)
    starts[:, 1:] = lines.sum(axis=-1).cumsum(axis=-1)
    return {"columns": np.nonzero(lines)[2].astype(np.int32), "row starts": starts}


def _mask(tensors: Tensors, shape: Shape, sparsity: Sparsity) -> Array:
    count = shape[0] * shape[1] * shape[2]
    if sparsity.layout == "bitmap":
        return np.unpackbits(tensors["index"], count=count, bitorder="little").astype(bool).reshape(shape)
    if sparsity.layout == "pairs":
        packed = tensors["index"]
        places = unpack_words(np.pad(packed, (0, -len(packed) % 4)), 2, count // 2)
        mask = np.zeros((count // 4, 4), bool)
        mask[np.repeat(np.arange(count // 4), 2), places] = True
        return mask.reshape(shape)
    lengths = np.diff(tensors["row starts"], axis=-1).reshape(-1)
    mask = np.zeros((shape[0] * shape[1], shape[2]), bool)
    mask[np.repeat(np.arange(len(mask)), lengths), tensors["columns"]] = True
    return mask.reshape(shape)
