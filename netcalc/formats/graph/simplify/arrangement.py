"""Chains of views as an arrangement of factors of the axes, and short chains with the same result.

A view of a tensor of 2×12 that splits the second axis into 3×4 and swaps the new axes with the first is the
arrangement ``a (b c) → b a c``: the axes of the source are written as products of factors, and axes of the result as
groups of the same factors.  Two chains are equal if their arrangements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netcalc.dims import Dim, exact_div, product
from netcalc.opdef import Operation, normal_axis

#: The operations that arrangements describe.
VIEWS = frozenset({"reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose"})

#: An operation with its attributes.
Step = tuple[str, dict[str, Any]]


@dataclass(eq=False, slots=True)
class Factor:
    """A factor of an axis of the source."""

    size: Dim


Group = tuple[Factor, ...]


class Arrangement:
    """The factors of each axis of a tensor, and their groups that are the axes of a view of it.

    An axis of size 1 in the view is an empty group, since it does not matter where it comes from.
    """

    def __init__(self, shape: Sequence[Dim]) -> None:
        self.source: list[Group] = [(Factor(size),) for size in shape]
        self.target: list[Group] = [tuple(f for f in group if f.size != 1) for group in self.source]

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Shape of the view."""
        return tuple(product(factor.size for factor in group) for group in self.target)

    def key(self) -> tuple[Any, ...]:
        """Return a key that equal arrangements of tensors of one shape share."""
        number = {factor: place for place, factor in enumerate(f for group in self.source for f in group)}
        return (
            self.shape,
            tuple(tuple(factor.size for factor in group) for group in self.source),
            tuple(tuple(number[factor] for factor in group) for group in self.target),
        )

    def apply(self, op: Operation) -> bool:
        """Apply a view to the target; return False where the factors of the sizes cannot be told."""
        attributes: Any = op
        rank = len(self.target)
        match op.name:
            case "permute":
                self.target = [self.target[axis] for axis in attributes.axes]
            case "transpose":
                a, b = attributes.axes
                self.target[a], self.target[b] = self.target[b], self.target[a]
            case "unsqueeze":
                self.target.insert(normal_axis(attributes.axis, rank + 1, op.name), ())
            case "squeeze":
                named = range(rank) if attributes.axis is None else [axis % rank for axis in attributes.axis]
                others = [group for axis, group in enumerate(self.target) if axis not in named or self.shape[axis] != 1]
                self.target = others
            case "flatten":
                first, last = attributes.start_axis % rank, attributes.end_axis % rank
                self.target[first : last + 1] = [tuple(f for group in self.target[first : last + 1] for f in group)]
            case "unflatten":
                axis = attributes.axis % rank
                sizes = _filled_sizes(attributes.sizes, self.shape[axis])
                return sizes is not None and self._regroup(axis, axis + 1, sizes)
            case "reshape":
                sizes = _filled_sizes(attributes.shape, product(self.shape))
                return sizes is not None and self._regroup(0, rank, sizes)
        return True

    def _regroup(self, first: int, last: int, sizes: Sequence[Dim]) -> bool:
        """Distribute the factors of some axes of the target over axes of other sizes, in order."""
        waiting = [factor for group in self.target[first:last] for factor in group]
        groups: list[Group] = []
        for size in sizes:
            group: list[Factor] = []
            rest = size
            while rest != 1:
                if not waiting:
                    return False
                factor = waiting.pop(0)
                left = exact_div(rest, factor.size)
                if left is None:
                    behind = exact_div(factor.size, rest)
                    if behind is None:
                        return False
                    factor, other = self._split(factor, rest, behind)
                    waiting.insert(0, other)
                    left = 1
                group.append(factor)
                rest = left
            groups.append(tuple(group))
        if waiting:
            return False
        self.target[first:last] = groups
        return True

    def _split(self, factor: Factor, first: Dim, second: Dim) -> tuple[Factor, Factor]:
        parts = Factor(first), Factor(second)
        for groups in (self.source, self.target):
            groups[:] = [tuple(f for old in group for f in (parts if old is factor else (old,))) for group in groups]
        return parts


def arranged(shape: Sequence[Dim], ops: Sequence[Operation]) -> Arrangement | None:
    """Return the arrangement of a chain of views of a tensor; None where it cannot be told, or an axis is empty."""
    if any(size == 0 for size in shape):
        return None
    arrangement = Arrangement(shape)
    return arrangement if all(arrangement.apply(op) for op in ops) else None


def _filled_sizes(sizes: Sequence[Any], total: Dim) -> tuple[Dim, ...] | None:
    """Return sizes with -1 replaced; None if the sizes do not divide the number of elements by their form."""
    fixed = product(size for size in sizes if size != -1)
    if -1 not in sizes:
        return tuple(sizes)
    rest = exact_div(total, fixed)
    return None if rest is None else tuple(rest if size == -1 else size for size in sizes)
