"""Products of :mod:`netcalc.ops.decomposition`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like
from netcalc.numerics.kernels._lapack import eigen, singular, solved_triangular
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps.linalg import transposed
from netcalc.ops.decomposition import QR, SVD, Eigh, Eigvalsh, Pinv, SVDVals


@vjp("qr")
def qr(op: QR, back: Back, of_q: Array | None, of_r: Array | None) -> Gradients:
    q, r = back.saved["Q"], back.saved["R"]
    m, n = q.shape[-2], r.shape[-1]
    by_r = None if of_r is None else np.matmul(of_r, transposed(r))
    by_q = None if of_q is None else np.matmul(transposed(q), of_q)
    if m >= n:
        inner = _triangle(_difference(by_r, by_q), upper=True)
        sides = np.matmul(q, inner + transposed(_triangle(inner, upper=True, diagonal=1)))
        sides = sides if of_q is None else sides + of_q
        return {0: like(sides, transposed(solved_triangular(r, transposed(sides), back.note, upper=True)))}
    difference = _difference(by_q, by_r)
    lower = _triangle(difference - transposed(difference), upper=False, diagonal=-1)
    turned = solved_triangular(r[..., :m], transposed(lower), back.note, upper=True)
    square = np.matmul(q, transposed(like(q, turned)))
    if of_r is None:
        rest = np.zeros((*square.shape[:-1], n - m), square.dtype)
        return {0: np.concatenate([square, rest], axis=-1)}
    gradient = np.matmul(q, of_r)
    gradient[..., :m] = gradient[..., :m] + square
    return {0: gradient}


def _difference(first: Array | None, second: Array | None) -> Array:
    """Return the difference of two matrices, of which one may be absent."""
    if second is None:
        assert first is not None
        return first
    return -second if first is None else first - second


def _triangle(x: Array, *, upper: bool, diagonal: int = 0) -> Array:
    return like(x, (np.triu if upper else np.tril)(np.asarray(x), diagonal))


def _spread(values: Array) -> Array:
    """Return the differences λ_j − λ_i of values, and 1 on the diagonal."""
    differences = values[..., None, :] - values[..., :, None]
    places = np.arange(values.shape[-1])
    differences[..., places, places] = 1
    return differences


@vjp("svd")
def svd(op: SVD, back: Back, of_u: Array | None, of_s: Array | None, of_v: Array | None) -> Gradients:
    s, k = back.saved["S"], back.saved["S"].shape[-1]
    u, vh = back.saved["U"][..., :k], back.saved["Vh"][..., :k, :]
    if of_u is None and of_v is None:
        assert of_s is not None
        return {0: np.matmul(u * of_s[..., None, :], vh)}
    spread = _spread(s * s)
    inner = None
    if of_u is not None:
        of_u = of_u[..., :k]
        product = np.matmul(transposed(u), of_u)
        inner = (product - transposed(product)) / spread * s[..., None, :]
    if of_v is not None:
        of_v = of_v[..., :k, :]
        product = np.matmul(vh, transposed(of_v))
        right = (product - transposed(product)) / spread * s[..., :, None]
        inner = right if inner is None else inner + right
    assert inner is not None
    if of_s is not None:
        places = np.arange(k)
        inner[..., places, places] = inner[..., places, places] + of_s
    m, n = u.shape[-2], vh.shape[-1]
    if m > k and of_u is not None:
        scaled = of_u / s[..., None, :]
        outside = scaled - np.matmul(u, np.matmul(transposed(u), scaled))
        return {0: np.matmul(np.matmul(u, inner) + outside, vh)}
    if n > k and of_v is not None:
        scaled = of_v / s[..., :, None]
        outside = scaled - np.matmul(np.matmul(scaled, transposed(vh)), vh)
        return {0: np.matmul(u, np.matmul(inner, vh) + outside)}
    return {0: np.matmul(u, np.matmul(inner, vh)) if m >= n else np.matmul(np.matmul(u, inner), vh)}


@vjp("svdvals")
def svdvals(op: SVDVals, back: Back, gradient: Array) -> Gradients:
    u, _, vh = singular("the gradient of svdvals", back.saved["self"], back.note)
    return {0: np.matmul(like(gradient, u) * gradient[..., None, :], vh)}


@vjp("eigh")
def eigh(op: Eigh, back: Back, of_values: Array | None, of_vectors: Array | None) -> Gradients:
    values, vectors = back.saved["eigenvalues"], back.saved["eigenvectors"]
    if of_vectors is None:
        assert of_values is not None
        return {0: np.matmul(vectors * of_values[..., None, :], transposed(vectors))}
    product = np.matmul(transposed(vectors), of_vectors)
    inner = (product - transposed(product)) * 0.5 / _spread(values)
    places = np.arange(values.shape[-1])
    inner[..., places, places] = 0 if of_values is None else of_values
    return {0: np.matmul(vectors, np.matmul(inner, transposed(vectors)))}


@vjp("eigvalsh")
def eigvalsh(op: Eigvalsh, back: Back, gradient: Array) -> Gradients:
    _, vectors = eigen("the gradient of eigvalsh", back.saved["self"], back.note, upper=op.upper)
    vectors = like(gradient, vectors)
    return {0: np.matmul(vectors * gradient[..., None, :], transposed(vectors))}


@vjp("pinv")
def pinv(op: Pinv, back: Back, gradient: Array) -> Gradients:
    a, p, g = back.saved["self"], back.saved["result"], transposed(gradient)
    if a.shape[-2] <= a.shape[-1]:
        k = np.matmul(g, p)
        outer = np.matmul(k, transposed(p))
        first = -transposed(np.matmul(p, k)) + outer - np.matmul(np.matmul(a, p), outer)
        return {0: first + np.matmul(np.matmul(transposed(p), p), g - np.matmul(k, a))}
    k = np.matmul(p, g)
    outer = np.matmul(transposed(p), k)
    first = -transposed(np.matmul(k, p)) + np.matmul(np.matmul(g - np.matmul(a, k), p), transposed(p))
    return {0: first + outer - np.matmul(np.matmul(outer, p), a)}
