"""The shortest chain of views that gives an arrangement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, pairwise
from itertools import product as product_of
from typing import Any

from netcalc.dims import Dim, Poly, product
from netcalc.formats.graph.simplify.arrangement import Arrangement, Factor, Group, Step

Sizes = Sequence[Dim]

#: Ways to take axes of size 1 from the source that are tried.
_TRIED = 30


def steps_of(arrangement: Arrangement) -> list[Step]:
    """Return views, as few as possible, that make the target of an arrangement of its source."""
    source = arrangement.source
    shape = tuple(product(factor.size for factor in group) for group in source)
    chains = [chain for target in _with_units(source, arrangement.target) for chain in _chains(shape, source, target)]
    return min(chains, key=lambda steps: (len(steps), sum(name == "reshape" for name, _ in steps)))


def _with_units(source: Sequence[Group], target: Sequence[Group]) -> Iterator[list[Group]]:
    """Yield the groups, with the source's axes of size 1 in the places of the target's."""
    units = [factor for group in source for factor in group if factor.size == 1]
    places = [axis for axis, group in enumerate(target) if not group]
    count = min(len(units), len(places))
    for chosen in islice(product_of(combinations(units, count), combinations(places, count)), _TRIED):
        taken = dict(zip(chosen[1], chosen[0], strict=True))
        yield [(taken[axis],) if axis in taken else group for axis, group in enumerate(target)]


def _chains(shape: Sizes, source: Sequence[Group], target: Sequence[Group]) -> Iterator[list[Step]]:
    target_factors = {factor for group in target for factor in group}
    before = [factor for group in source for factor in group if factor in target_factors]
    after = [factor for group in target for factor in group]
    source_groups = [tuple(factor for factor in group if factor in target_factors) for group in source]
    wanted = tuple(product(factor.size for factor in group) for group in target)
    if _moving(before) == _moving(after):
        yield regrouped(shape, wanted)
    for units in (_units([group for group in source_groups if group], target), _runs(before, after)):
        yield _through(shape, units, target, wanted)


def _moving(factors: Sequence[Factor]) -> list[Factor]:
    return [factor for factor in factors if factor.size != 1]


def _units(source: Sequence[Group], target: Sequence[Group]) -> list[Group]:
    """Return the parts of axes of the source that stay together, in the order of the source."""
    inside = {group[i : i + 2] for group in target for i in range(len(group) - 1)}
    return [run for group in source for run in _joined_groups(group, lambda pair: pair in inside)]


def _runs(before: Sequence[Factor], after: Sequence[Factor]) -> list[Group]:
    """Return the runs of factors that stay together, also over several axes, in the order of the source."""
    follow = set(pairwise(after))
    return _joined_groups(tuple(before), lambda pair: pair in follow)


def _joined_groups(factors: Group, together: Any) -> list[Group]:
    runs: list[Group] = []
    for factor in factors:
        if runs and together((runs[-1][-1], factor)):
            runs[-1] = (*runs[-1], factor)
        else:
            runs.append((factor,))
    return runs


def _through(shape: Sizes, units: Sequence[Group], target: Sequence[Group], wanted: Sizes) -> list[Step]:
    """Return views that split or join axes into units, permute these, and join or split them into the target."""
    place = {factor: number for number, unit in enumerate(units) for factor in unit}
    order = list(dict.fromkeys(place[factor] for group in target for factor in group))
    sizes = [product(factor.size for factor in unit) for unit in units]
    return [*regrouped(shape, sizes), *_permuted(order), *regrouped([sizes[unit] for unit in order], wanted)]


def _permuted(order: Sequence[int]) -> Iterator[Step]:
    moved = [axis for axis, source in enumerate(order) if axis != source]
    if len(moved) == 2:
        yield "transpose", {"axes": moved}
    elif moved:
        yield "permute", {"axes": list(order)}


def regrouped(shape: Sizes, wanted: Sizes) -> list[Step]:
    """Return the view, or none, that gives a tensor another shape without moving elements."""
    shape, wanted = tuple(shape), tuple(wanted)
    if shape == wanted:
        return []
    for axis in range(len(wanted)):
        if wanted[axis] == 1 and (*wanted[:axis], *wanted[axis + 1 :]) == shape:
            return [("unsqueeze", {"axis": axis})]
    for step in (_flatten(shape, wanted), _unflatten(shape, wanted), _squeeze(shape, wanted)):
        if step is not None:
            return [step]
    return [("reshape", {"shape": open_sizes(wanted)})]


def _common(shape: Sizes, wanted: Sizes) -> tuple[int, int]:
    """Return the number of equal sizes in front and behind."""
    least = min(len(shape), len(wanted))
    first = next((axis for axis in range(least) if shape[axis] != wanted[axis]), least)
    last = next((axis for axis in range(least - first) if shape[-1 - axis] != wanted[-1 - axis]), least - first)
    return first, last


def _flatten(shape: Sizes, wanted: Sizes) -> Step | None:
    first, last = _common(shape, wanted)
    if len(wanted) == first + last:  # the axis of the result equals one of the axes that are joined
        first, last = (first - 1, last) if first else (first, last - 1)
    if first < 0 or last < 0 or len(wanted) != first + last + 1 or len(shape) < first + last + 2:
        return None
    end = len(shape) - 1 - last
    attributes = {} if first == 1 else {"start_axis": first}
    return "flatten", attributes if not last else {**attributes, "end_axis": end}


def _unflatten(shape: Sizes, wanted: Sizes) -> Step | None:
    first, last = _common(shape, wanted)
    if len(shape) == first + last:
        first, last = (first - 1, last) if first else (first, last - 1)
    if first < 0 or last < 0 or len(shape) != first + last + 1 or len(wanted) < first + last + 2:
        return None
    sizes = wanted[first : len(wanted) - last]
    return "unflatten", {"axis": -1 if not last else first, "sizes": open_sizes(sizes)}


def _squeeze(shape: Sizes, wanted: Sizes) -> Step | None:
    units = [axis for axis, size in enumerate(shape) if size == 1]
    for axis in units:
        if tuple(shape[:axis]) + tuple(shape[axis + 1 :]) == wanted:
            return "squeeze", {"axis": axis}
    if tuple(size for size in shape if size != 1) == wanted:
        return "squeeze", {"axis": units}
    return None


def open_sizes(sizes: Sizes) -> list[Any]:
    """Return sizes with -1 for the symbolic one that is written longest."""
    symbolic = [axis for axis, size in enumerate(sizes) if isinstance(size, Poly)]
    longest = max(symbolic, key=lambda axis: len(str(sizes[axis])), default=None)
    return [-1 if axis == longest else size for axis, size in enumerate(sizes)]
