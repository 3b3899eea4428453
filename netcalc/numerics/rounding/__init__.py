"""Parameters rounded to the form in which they are stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs import codec_named
from netcalc.codecs.codec import Shape, SparseCodec, Tensors
from netcalc.codecs.floats import Cast
from netcalc.codecs.pruning import decode_sparse, encode_sparse, kept
from netcalc.dims import integer
from netcalc.opdef import Storage

__all__ = ["decode", "encode", "is_rounded", "kept", "rounded", "rounding_bytes"]

#: Elements that are rounded at a time, where the scheme allows it.
_PIECE = 1 << 19
#: Bytes of an element of the result, and while it is encoded and decoded: codes, groups and copies.
_RESULT, _TEMPORARY = 8, 56


def is_rounded(storage: Storage | None, dtype: str) -> bool:
    """Return True if storing a parameter of an element type may change its numbers."""
    if storage is None:
        return False
    return storage.sparsity is not None or (storage.scheme != dtype and not storage.is_own)


def encode(array: Array, storage: Storage) -> Tensors:
    """Return the stored arrays of a parameter, by role.

    Raises:
        NetcalcError: E502 as :func:`codec_named`.
    """
    codec = codec_named(storage.scheme)
    values = array.reshape(_shape(storage))
    if values.dtype != np.float64 or not isinstance(codec, Cast):
        values = values.astype(np.float32, copy=False)
    if storage.sparsity is None:
        return codec.encode(values)
    assert isinstance(codec, SparseCodec)
    return encode_sparse(codec, values, storage.sparsity)


def decode(tensors: Tensors, storage: Storage) -> Array:
    """Return the values of a parameter, as matrices, from its stored arrays."""
    codec = codec_named(storage.scheme)
    if storage.sparsity is None:
        return codec.decode(tensors, _shape(storage))
    assert isinstance(codec, SparseCodec)
    return decode_sparse(codec, tensors, _shape(storage), storage.sparsity)


def rounded(array: Array, storage: Storage) -> Array:
    """Return a parameter as it is after it was stored, in its own shape and element type.

    Raises:
        NetcalcError: E502 as :func:`codec_named`.
    """
    shape = _shape(storage)
    values, out = array.reshape(shape), np.empty(shape, array.dtype)
    step = _rows_at_a_time(storage)
    with np.errstate(over="ignore"):
        if not step:
            out[...] = decode(encode(values, storage), storage)
            return out.reshape(array.shape)
        for matrix in range(shape[0]):
            for start in range(0, shape[1], step):
                part = values[matrix : matrix + 1, start : start + step]
                piece = replace(storage, shape=part.shape)
                out[matrix : matrix + 1, start : start + step] = decode(encode(part, piece), piece)
    return out.reshape(array.shape)


def rounding_bytes(storage: Storage) -> int:
    """Return a bound of the memory that :func:`rounded` takes besides the parameter: the result, and temporaries."""
    matrices, rows, columns = _shape(storage)
    step = _rows_at_a_time(storage)
    at_a_time = min(step, rows) * columns if step else matrices * rows * columns
    return matrices * rows * columns * _RESULT + at_a_time * _TEMPORARY


def _rows_at_a_time(storage: Storage) -> int:
    """Return the number of rows that are rounded at a time; 0 for all of a tensor."""
    together = codec_named(storage.scheme).rows
    if not together or (storage.sparsity is not None and storage.sparsity.pattern is None):
        return 0
    return max(_PIECE // max(_shape(storage)[2], 1) // together, 1) * together


def _shape(storage: Storage) -> Shape:
    matrices, rows, columns = map(integer, storage.shape)
    return matrices, rows, columns
