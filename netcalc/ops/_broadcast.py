"""Broadcasting, as in NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netcalc.diagnostics import Fix, RuleError
from netcalc.dims import Dim, UndecidedError, equal, value_at


def broadcast(what: str, shapes: Sequence[Sequence[Dim]], fixes: Iterable[Fix] = ()) -> tuple[Dim, ...]:
    """Return the broadcast shape: aligned from the last axis, sizes are equal or 1.

    Symbolic sizes of different form are compared at their defaults, which is recorded as an assumption.

    Raises:
        RuleError: if two sizes differ and neither is 1.
    """
    rank = max(map(len, shapes))
    common: list[Dim] = [1] * rank
    wrong = []
    for axis in range(rank):
        sizes = [shape[axis - rank] for shape in shapes if axis - rank >= -len(shape)]
        size = broadcast_size(sizes)
        if size is None:
            others = dict.fromkeys(size for size in sizes if size != 1)
            wrong.append(f"axis {axis} is {' and '.join(map(str, others))}")
        else:
            common[axis] = size
    if wrong:
        raise RuleError(f"{what} cannot broadcast its inputs: {', '.join(wrong)}", fixes=fixes)
    return tuple(common)


def expands(shape: Sequence[Dim], target: Sequence[Dim]) -> bool:
    """Return True if ``shape`` broadcasts to ``target``."""
    aligned = list(zip(reversed(shape), reversed(target), strict=False))
    return len(shape) <= len(target) and all(
        _is_number_one(size) or size == other or equal(size, 1 if _is_one(size) else other) for size, other in aligned
    )


def broadcast_size(sizes: Iterable[Dim]) -> Dim | None:
    """Return the size to which sizes broadcast; None if they do not."""
    sizes = list(dict.fromkeys(size for size in sizes if not _is_number_one(size)))
    if len(sizes) < 2:
        return sizes[0] if sizes else 1
    larger = [size for size in sizes if not _is_one(size)]
    result = larger[0] if larger else sizes[0]
    same = all(equal(result, size) for size in larger or sizes)
    return result if same and all(equal(size, 1) for size in sizes if larger and size not in larger) else None


def _is_number_one(size: Dim) -> bool:
    """Return True for the number 1; a symbol that may be 1 broadcasts to itself, and is not compared."""
    return isinstance(size, int) and size == 1


def _is_one(size: Dim) -> bool:
    """Return True if a size is 1 at the defaults."""
    try:
        return value_at(size, {}) == 1
    except UndecidedError:
        return False
