"""Work of the gradient of a norm of vectors."""

from __future__ import annotations

import math

from netcalc.dims import Dim
from netcalc.opdef import Term


def norm_gradient(p: float, vectors: Dim, length: Dim) -> tuple[Term, ...]:
    """Return the work of h·∂‖x‖ₚ/∂x from x and its norm, for vectors; the number of nonzero elements has none."""
    every = {"vectors": vectors, "length": length}
    by_sign = (Term.of("compare", "sign", **every), Term.of("mul", "by sign", **every))
    at_zero = Term.of("compare", "norm of zero", vectors=vectors)
    if p == 0:
        return ()
    if p == 1:
        return by_sign
    if p == 2:
        return Term.of("div", "by norm", vectors=vectors), at_zero, Term.of("mul", "by element", **every)
    magnitude = Term.of("compare", "magnitude", **every)
    if math.isinf(p):
        return (
            magnitude,
            Term.of("compare", "extreme", **every),
            Term.of("add", "ties", vectors=vectors, sums=length - 1),
            Term.of("div", "share of ties", vectors=vectors),
            *by_sign,
        )
    return (
        magnitude,
        Term.of("transcendental", "power", **every),
        *((Term.of("compare", "element of zero", **every),) if p < 1 else ()),
        *by_sign,
        Term.of("transcendental", "power of norm", vectors=vectors),
        Term.of("mul", "by power of norm", vectors=vectors),
        at_zero,
        Term.of("mul", "by norm", **every),
    )
