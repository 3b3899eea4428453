"""References of :mod:`netcalc.ops.fourier`: the sum of the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import double, total


@reference("fourier")
def fourier(op: Attributes, x: Array) -> Expected:
    axes = [axis % x.ndim for axis in op.axis]
    reads = math.prod(x.shape[axis] for axis in axes)

    def at(index: Shape) -> Any:
        terms = double(x[tuple(slice(None) if axis in axes else place for axis, place in enumerate(index))])
        phases = np.zeros(terms.shape)
        for number, axis in enumerate(sorted(axes)):
            turns = np.arange(x.shape[axis]) * index[axis] % x.shape[axis] / x.shape[axis]
            phases = phases + turns.reshape([-1 if other == number else 1 for other in range(terms.ndim)])
        return total(terms, np.cos(2 * math.pi * phases))

    return Expected(x.shape, x.dtype.name, at, reads)


@reference("fft", "ifft", "rfft", "ihfft")
def of_numbers(op: Attributes, x: Array) -> Expected:
    axes, sizes = _axes_and_sizes(op, x)
    sign = 1 if op.name in ("ifft", "ihfft") else -1
    shape = [dict(zip(axes, sizes, strict=True)).get(axis, size) for axis, size in enumerate(x.shape)]
    if op.name in ("rfft", "ihfft"):
        shape[axes[-1]] = sizes[-1] // 2 + 1

    def at(index: Shape) -> Any:
        return _sum(op, _lines(x, axes, sizes, index), axes, sizes, index, sign)

    dtype = "complex128" if x.dtype.name in ("float64", "complex128") else "complex64"
    return Expected(tuple(shape), dtype, at, math.prod(x.shape[axis] for axis in axes))


@reference("irfft", "hfft")
def of_halves(op: Attributes, x: Array) -> Expected:
    axes, sizes = _axes_and_sizes(op, x)
    if op.n is None or op.n[-1] == -1:
        sizes[-1] = 2 * (x.shape[axes[-1]] - 1)
    last, size = axes[-1], sizes[-1]
    shape = [dict(zip(axes, sizes, strict=True)).get(axis, n) for axis, n in enumerate(x.shape)]

    def at(index: Shape) -> Any:
        spectrum = _lines(x, axes, [*sizes[:-1], size // 2 + 1], index)
        spectrum = spectrum.conj() if op.name == "hfft" else spectrum
        place = sorted(axes).index(last)
        weights = np.full(spectrum.shape[place], 2.0)  # the other frequencies are conjugates
        weights[0] = 1.0
        if size % 2 == 0 and len(weights) > size // 2:
            weights[size // 2] = 1.0
        ones = [1] * spectrum.ndim
        ones[place] = -1
        summed = _sum(op, spectrum * weights.reshape(ones), axes, sizes, index, 1)
        return Value(summed.value.real, summed.magnitude)

    dtype = "float64" if x.dtype.name in ("float64", "complex128") else "float32"
    return Expected(tuple(shape), dtype, at, math.prod(x.shape[axis] for axis in axes))


def _axes_and_sizes(op: Attributes, x: Array) -> tuple[list[int], list[int]]:
    axes = [axis % x.ndim for axis in op.axis]
    given = op.n or [-1] * len(axes)
    return axes, [x.shape[axis] if size == -1 else size for axis, size in zip(axes, given, strict=True)]


def _lines(x: Array, axes: list[int], sizes: list[int], index: Shape) -> Array:
    """Return the elements along the axes at an index of the others, without those beyond the sizes."""
    ends = dict(zip(axes, sizes, strict=True))
    chosen = tuple(slice(ends[axis]) if axis in ends else place for axis, place in enumerate(index))
    lines: Array = x[chosen].astype(np.complex128)
    return lines


def _sum(op: Attributes, lines: Array, axes: list[int], sizes: list[int], index: Shape, sign: int) -> Value:
    """Return the sum of Fourier's definition, scaled by the norm."""
    phases = np.zeros(lines.shape)
    by_axis = dict(zip(axes, sizes, strict=True))
    for number, axis in enumerate(sorted(axes)):
        turns = np.arange(lines.shape[number]) * index[axis] % by_axis[axis] / by_axis[axis]
        phases = phases + turns.reshape([-1 if other == number else 1 for other in range(lines.ndim)])
    value = total(lines, np.exp(sign * 2j * math.pi * phases))
    inverse = op.name in ("ifft", "irfft", "ihfft")
    count = math.prod(sizes)
    scale = {"ortho": count**-0.5, "forward": 1 if inverse else 1 / count}.get(op.norm, 1 / count if inverse else 1)
    return Value(value.value * scale, value.magnitude * scale)
