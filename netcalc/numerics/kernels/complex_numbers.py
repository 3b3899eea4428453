"""Kernels of :mod:`netcalc.ops.complex_numbers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like


@kernel("real")
def real(op: Any, run: Run, x: Array) -> Array:
    return x.real


@kernel("imag")
def imag(op: Any, run: Run, x: Array) -> Array:
    return x.imag


@kernel("view_as_real")
def view_as_real(op: Any, run: Run, x: Array) -> Array:
    return np.ascontiguousarray(x).reshape(*x.shape, 1).view(x.real.dtype)


@kernel("view_as_complex")
def view_as_complex(op: Any, run: Run, x: Array) -> Array:
    return np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))[..., 0]


@kernel("complex")
def numbers(op: Any, run: Run, real: Array, imag: Array) -> Array:
    z: Array = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    z.real, z.imag = real, imag
    result: Array = like(real, z)
    return result


@kernel("polar")
def polar(op: Any, run: Run, abs: Array, angle: Array) -> Array:
    shape = np.broadcast_shapes(abs.shape, angle.shape)
    angle = np.broadcast_to(angle, shape, subok=True)
    result: Array = numbers(op, run, abs * np.cos(angle), abs * np.sin(angle))
    return result


@kernel("conj")
def conjugates(op: Any, run: Run, x: Array) -> Array:
    return np.conjugate(x)


@kernel("angle")
def angle(op: Any, run: Run, x: Array) -> Array:
    angles: Array = np.arctan2(x.imag, x.real)
    return angles
