"""Integers packed across columns, as GPTQ's and AWQ's kernels read them."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import Shape, Tensors
from netcalc.codecs.integers import Affine
from netcalc.codecs.planes import pack_words, unpack_words

#: The row of eight whose code is at each place of a word (AutoAWQ, modules/linear/gemm.py).
_ORDER = np.array([0, 2, 4, 6, 1, 3, 5, 7])


class Gptq:
    """AutoGPTQ's layout: words of several columns, and zero points less one."""

    rows = 32

    def __init__(self, bits: int, group: int | None) -> None:
        self._codes = Affine(bits, group, symmetric=False)
        self._group = group

    def encode(self, values: Array) -> Tensors:
        """Return qweight, scales, qzeros and g_idx."""
        bits = self._codes.bits
        codes, scales, zeros = self._codes.rounded(values)
        matrices, _, columns = values.shape
        groups = np.arange(columns, dtype=np.int32) // (self._group or max(columns, 1))
        return {
            "values": pack_words(codes, bits).swapaxes(1, 2),
            "scales": scales.swapaxes(1, 2),
            "zero points": pack_words((zeros.swapaxes(1, 2) - np.uint8(1)) & np.uint8((1 << bits) - 1), bits),
            "groups of columns": np.broadcast_to(groups, (matrices, columns)),
        }

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        bits = self._codes.bits
        codes = unpack_words(tensors["values"].swapaxes(1, 2), bits, shape[2])
        zeros = (unpack_words(tensors["zero points"], bits, shape[1]) + np.uint8(1)) & np.uint8((1 << bits) - 1)
        return self._codes.values(codes, tensors["scales"].swapaxes(1, 2), zeros.swapaxes(1, 2))


class Awq:
    """AutoAWQ's layout for 4 bits: words of eight rows in the order of the kernel."""

    rows = 8

    def __init__(self, group: int | None) -> None:
        self._codes = Affine(4, group, symmetric=False)

    def encode(self, values: Array) -> Tensors:
        """Return qweight, scales and qzeros."""
        codes, scales, zeros = self._codes.rounded(values)
        return {
            "values": _interleaved(codes.swapaxes(1, 2)),
            "scales": scales.swapaxes(1, 2),
            "zero points": _interleaved(zeros.swapaxes(1, 2)),
        }

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        codes, zeros = (awq_codes(tensors[role], shape[1]).swapaxes(1, 2) for role in ("values", "zero points"))
        return self._codes.values(codes, tensors["scales"].swapaxes(1, 2), zeros)


def _interleaved(codes: Array) -> Array:
    eights = codes.reshape(*codes.shape[:-1], -1, 8)[..., _ORDER]
    return pack_words(eights.reshape(codes.shape), 4)


def awq_codes(words: Array, rows: int, bits: int = 4) -> Array:
    """Return the codes in words along the last axis, each eight of them in the order of the rows."""
    eights = unpack_words(words, bits, rows).reshape(*words.shape[:-1], -1, 8)
    return eights[..., np.argsort(_ORDER)].reshape(*words.shape[:-1], rows)
