"""Kernels of :mod:`netcalc.ops.decomposition`."""

from __future__ import annotations

from functools import partial

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.numerics.kernels._lapack import NOT_FINITE, count_of, eigen, note_halves, of_lapack, plain, singular
from netcalc.ops.decomposition import QR, SVD, Eigh, Eigvalsh, Pinv, SVDVals


@kernel("qr")
def qr(op: QR, run: Run, x: Array) -> tuple[Array, Array]:
    m, n, matrices = *x.shape[-2:], count_of(x)
    q, r = np.linalg.qr(plain(x))
    run.note("mul", matrices * (_reflected(m, n, 6 * max(m, n) + 23, 6 * n) + _columns(m, min(m, n), 6, -3, -5)))
    run.note("add", matrices * (_reflected(m, n, 5, 6 * n) + _columns(m, min(m, n), 3, 0, 1 - 3 * m)))
    return like(x, q), like(x, r)


def _reflected(m: int, n: int, each: int, wide: int) -> int:
    """Return the multiplications or additions of the reflections of a matrix; a wide one has more for each."""
    k = min(m, n)
    whole = 6 * m * n * k - 2 * k**3
    return (whole + 3 * k * k + each * k if m > n else whole - 3 * k * k + (each + wide) * k) // 6


def _columns(m: int, k: int, square: int, cube: int, each: int) -> int:
    """Return the multiplications or additions of the columns of Q."""
    return (3 * m * k * k - k**3 + (square + cube) * k * k + each * k) // 3


@kernel("svd")
def svd(op: SVD, run: Run, x: Array) -> tuple[Array, ...]:
    return tuple(like(x, part) for part in singular("svd", x, run.note, full=op.full_matrices))


@kernel("svdvals")
def svdvals(op: SVDVals, run: Run, x: Array) -> Array:
    m, n = max(x.shape[-2:]), min(x.shape[-2:])
    values: Array = of_lapack("svdvals", partial(np.linalg.svd, compute_uv=False), x, reason=NOT_FINITE)
    note_halves(run.note, (12 * m * n * n - 4 * n**3) // 3, count_of(x))
    return like(x, values)


@kernel("eigh")
def eigh(op: Eigh, run: Run, x: Array) -> tuple[Array, ...]:
    return tuple(like(x, part) for part in eigen("eigh", x, run.note, upper=op.upper))


@kernel("eigvalsh")
def eigvalsh(op: Eigvalsh, run: Run, x: Array) -> Array:
    triangle = "U" if op.upper else "L"
    values: Array = of_lapack("eigvalsh", partial(np.linalg.eigvalsh, UPLO=triangle), x, reason=NOT_FINITE)
    note_halves(run.note, 4 * x.shape[-1] ** 3 // 3, count_of(x))
    return like(x, values)


@kernel("pinv")
def pinv(op: Pinv, run: Run, x: Array) -> Array:
    m, n = x.shape[-2:]
    u, s, vh = singular("pinv", x, run.note)
    rtol = max(m, n) * np.finfo(x.dtype).eps if op.rtol is None else op.rtol
    bound = np.maximum(s[..., :1] * x.dtype.type(rtol), x.dtype.type(op.atol))
    inverse = np.where(s > bound, 1 / s, x.dtype.type(0))
    run.note("mul", bound.size)
    run.note("compare", s.size)
    run.note("div", s.size)
    run.note("mul", s.size * (n + m * n))
    run.note("add", count_of(x) * m * n * (s.shape[-1] - 1))
    return like(x, (np.swapaxes(vh, -1, -2) * inverse[..., None, :]) @ np.swapaxes(u, -1, -2))
