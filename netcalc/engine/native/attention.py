"""Attention by a compiled kernel: scores, masks, softmax and the product with the values."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.native.library import blocks, bound

#: Masks that the kernel takes, at most.
MOST_MASKS = 2
#: Queries whose scores are computed together, at most, and at least.
_MOST_STEP, _LEAST_STEP = 48, 12
#: A position beyond all keys.
_FAR = 1 << 40


class _Operand(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("stride", ctypes.c_ssize_t * 3))


class _Mask(ctypes.Structure):
    _fields_ = (("added", ctypes.c_void_p), ("visible", ctypes.c_void_p), ("stride", ctypes.c_ssize_t * 4))


class _Attention(ctypes.Structure):
    _fields_ = (
        *((name, _Operand) for name in ("q", "k", "v", "out")),
        ("masks", _Mask * MOST_MASKS),
        ("sinks", ctypes.c_void_p),
        ("sink_stride", ctypes.c_ssize_t * 2),
        *((name, ctypes.c_void_p) for name in ("key_panels", "value_panels", "scores")),
        *((name, ctypes.c_ssize_t) for name in ("samples", "heads", "queries", "keys", "depth", "width")),
        *((name, ctypes.c_ssize_t) for name in ("step", "first", "last")),
        ("scale", ctypes.c_float),
        ("cap", ctypes.c_float),
    )


def buffer_elements(keys: int, depth: int, width: int, most_scores: int) -> dict[str, int]:
    """Return the elements of the scratch buffers, by name, for keys and values of so many features.

    ``most_scores`` is the number of scores to hold at a time, if there are that many for the fewest queries.
    """
    size = blocks()
    assert size is not None
    panel = size.width
    rows = -(-keys // panel) * panel
    return {
        "key panels": rows * depth,
        "value panels": keys * (-(-width // panel) * panel),
        "scores": _step(keys, most_scores) * rows,
    }


def attention(
    q: Array,
    k: Array,
    v: Array,
    out: Array,
    buffers: Sequence[Array],
    *,
    scale: float,
    cap: float = 0,
    masks: Sequence[Array] = (),
    sinks: Array | None = None,
    first: int | None = None,
    last: int | None = None,
    most_scores: int,
) -> Callable[[], object]:
    """Return the call that computes the attention of some heads of some samples.

    Args:
        q: queries (samples, heads, queries, depth) of float32; here and below features lie together.
        k: keys; all heads of queries share the head of an array with a single one.
        v: values, shared in the same way.
        out: the result (samples, heads, queries, width).
        buffers: scratch of :func:`buffer_elements`.
        scale: factor of the scores.
        cap: c of c·tanh(score / c); 0 for none.
        masks: at most two that broadcast to the scores, of numbers to be added, or booleans that are True if visible.
        sinks: further scores (samples, heads), whose weights are dropped.
        first: first key that the first query sees; each next query sees from one further on.  None for all.
        last: end of the keys that the first query sees; each next query sees one more.  None for all.
        most_scores: as for :func:`buffer_elements`.
    """
    (*lead, queries, depth), (keys, width) = q.shape, v.shape[-2:]
    lent = [np.broadcast_to(array, (*lead, *array.shape[2:])) for array in (q, k, v)]
    hidden = [np.broadcast_to(mask, (*lead, queries, keys)) for mask in masks]
    arguments = _Attention(
        *(_Operand(array.ctypes.data, (ctypes.c_ssize_t * 3)(*_strides(array)[:3])) for array in (*lent, out)),
        (_Mask * MOST_MASKS)(*map(_mask, hidden)),
        None if sinks is None else sinks.ctypes.data,
        (ctypes.c_ssize_t * 2)(*(() if sinks is None else _strides(sinks))),
        *(buffer.ctypes.data for buffer in buffers),
        *(*lead, queries, keys, depth, width),
        _step(keys, most_scores),
        -_FAR if first is None else first,
        _FAR if last is None else last,
        scale,
        cap,
    )
    return bound("attention", arguments, q, k, v, out, *buffers, *masks, sinks)


def _step(keys: int, most_scores: int) -> int:
    return max(_LEAST_STEP, min(_MOST_STEP, most_scores // keys // _LEAST_STEP * _LEAST_STEP))


def _mask(mask: Array) -> _Mask:
    address = mask.ctypes.data
    added, visible = (None, address) if mask.dtype == np.bool_ else (address, None)
    return _Mask(added, visible, (ctypes.c_ssize_t * 4)(*_strides(mask)))


def _strides(array: Array) -> list[int]:
    return [stride // array.itemsize for stride in array.strides]
