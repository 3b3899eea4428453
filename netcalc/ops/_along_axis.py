"""Work of operations in which each element along an axis depends on those before it."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.opdef import Kind, Term
from netcalc.tensor_type import TensorType


def steps_along(kind: Kind, role: str, x: TensorType, axis: int) -> Sequence[Term]:
    """Return the work of a step from each element along an axis to the next."""
    if not x.rank:
        return ()
    lines = product(size for i, size in enumerate(x.shape) if i != axis % x.rank)
    return (Term.of(kind, role, lines=lines, others=x.shape[axis] - 1),)
