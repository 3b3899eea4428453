"""Broadcasting, as NumPy and PyTorch do it, for the operations that combine tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netcalc.diagnostics import Fix, RuleError
from netcalc.dims import Dim


def broadcast(what: str, shapes: Sequence[Sequence[Dim]], fixes: Iterable[Fix] = ()) -> tuple[Dim, ...]:
    """The shape that all of these have in common: aligned from the last axis, sizes are equal or 1.

    Symbolic sizes are equal when their forms are.  RuleError where two sizes differ.
    """
    rank = max(map(len, shapes))
    common: list[Dim] = [1] * rank
    wrong = []
    for axis in range(rank):
        sizes = [shape[axis - rank] for shape in shapes if axis - rank >= -len(shape)]
        others = dict.fromkeys(size for size in sizes if size != 1)
        if len(others) > 1:
            wrong.append(f"axis {axis} is {' and '.join(map(str, others))}")
        common[axis] = next(iter(others), 1)
    if wrong:
        raise RuleError(f"{what} cannot broadcast its inputs: {', '.join(wrong)}", fixes=fixes)
    return tuple(common)
