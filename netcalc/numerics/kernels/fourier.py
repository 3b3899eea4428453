"""Kernels of :mod:`netcalc.ops.fourier`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.opdef import Kind
from netcalc.ops.fourier import Fourier, Transform

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fft": np.fft.fftn,
    "ifft": np.fft.ifftn,
    "rfft": np.fft.rfftn,
    "irfft": np.fft.irfftn,
    "hfft": np.fft.irfftn,
    "ihfft": np.fft.rfftn,
}
#: Norms of the inverse function.
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@kernel("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
def transform(op: Transform, run: Run, x: Array) -> Array:
    *_, last = axes = [axis % x.ndim for axis in op.axis]
    sizes = [x.shape[axis] if size == -1 else size for axis, size in zip(axes, op.n or [-1] * len(axes), strict=True)]
    if op.gives_real and (op.n is None or op.n[-1] == -1):
        sizes[-1] = 2 * (x.shape[last] - 1)
    norm = _SWAPPED[op.norm] if op.conjugates else op.norm
    working = np.asarray(x).conj() if op.name == "hfft" else np.asarray(x)
    result: Array = _FUNCTIONS[op.name](working, s=sizes, axes=axes, norm=norm)
    _note_work(op, run, x, result, dict(zip(axes, sizes, strict=True)))
    result = result.conj() if op.name == "ihfft" else result
    dtype = np.result_type(x.dtype, np.complex64)
    return like(x, result.astype(np.empty(0, dtype).real.dtype if op.gives_real else dtype, copy=False))


def _note_work(op: Transform, run: Run, x: Array, result: Array, sizes: dict[int, int]) -> None:
    """Count the butterflies of a fast transform, axis by axis, the negations and the scale."""
    shape = [sizes.get(axis, size) for axis, size in enumerate(x.shape)]
    last = list(sizes)[-1]
    for axis in reversed(sizes):
        size = shape[axis]
        numbers = math.prod(shape) // size * (-(-size // 2) if op.halves and axis == last else size)
        run.note("mul", 2 * numbers * (size - 1).bit_length())
        run.note("add", 3 * numbers * (size - 1).bit_length())
        if op.halves and axis == last:
            shape[axis] = size // 2 + 1
    if op.conjugates:
        run.note("add", math.prod(shape))
    if (op.norm == "ortho") or (op.norm == "forward") != op.inverse:
        run.note("mul", result.size * (2 if np.iscomplexobj(result) else 1))


@kernel("fourier")
def fourier(op: Fourier, run: Run, x: Array) -> Array:
    return transformed(op, run.note, x).astype(x.dtype, copy=False)


def transformed(op: Fourier, note: Callable[[Kind, int], None], x: Array) -> Array:
    """Return the real part of the transform, and note its work."""
    levels = sum((x.shape[axis] - 1).bit_length() for axis in op.axis)
    note("mul", 2 * x.size * levels)
    note("add", 3 * x.size * levels)
    working = np.asarray(wide(x))
    return like(x, np.fft.fftn(working, axes=tuple(op.axis)).real.astype(working.dtype))
