"""Broadcasting, as in NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netcalc.diagnostics import Fix, RuleError
from netcalc.dims import Dim


def broadcast(what: str, shapes: Sequence[Sequence[Dim]], fixes: Iterable[Fix] = ()) -> tuple[Dim, ...]:
    """Return the broadcast shape: aligned from the last axis, sizes are equal or 1.

    Symbolic sizes are equal if their canonical forms are.

    Raises:
        RuleError: if two sizes differ and neither is 1.
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
