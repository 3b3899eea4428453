"""Scaling of figures with a size: degree, terms, doublings, and the sizes at which one part overtakes another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from netcalc.analysis.closed_forms import NUMBERS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import FIGURES, Figure
from netcalc.analysis.rows import Row
from netcalc.dims import Assumption, Dim, Poly, Settled, claimed, substitute
from netcalc.dims.crossings import crossings
from netcalc.dims.formulas import formula
from netcalc.dims.growth import growth
from netcalc.results import Result, recorded

#: Figures whose scaling is reported, as far as they depend on a size.
_FIGURES = ("params", "macs", "flops", "flops_total")
#: Parts of a network, the greatest ones, whose crossings are looked for.
_MOST_PARTS = 8


class ScalingPoint(NamedTuple):
    """A figure at a size."""

    size: int
    value: int
    doubling: float | None
    """Factor by which the figure grows from this size to twice the size; null for a figure of 0."""
    shares: tuple[float, ...]
    """Shares of the terms, in their order."""


class FigureScaling(NamedTuple):
    """Dependence of a figure on one size, all others being at their defaults."""

    figure: str
    over: str
    """Name of the size."""
    unit: str
    formula: str
    degree: int | None
    """Power of the leading term; null for a figure that comes near to no power, as with logarithms."""
    coefficient: str | None
    """Coefficient of the leading term, a whole number or a fraction."""
    kind: str | None
    """The degree in words, such as `quadratic in length`."""
    terms: tuple[str, ...]
    points: tuple[ScalingPoint, ...]


class PartScaling(NamedTuple):
    """A part of the network: the layers of one name, of all instances together."""

    path: str
    """Path, with `*` for the numbers of instances."""
    figure: str
    over: str
    formula: str
    values: tuple[int, ...]
    """Values at the sizes of the points."""


class PartCrossing(NamedTuple):
    """A size behind which one part of a network counts more than another one."""

    figure: str
    over: str
    first: str
    """Path of the part that is greater behind the size."""
    second: str
    size: int
    equal: bool
    """True if both are equal at the size; else the first is still smaller there, and greater at the next size."""
    proved: bool
    """True if no crossing was left out; false for formulas that are no polynomials, where crossings were looked for."""
    beyond: str
    """The assumption of the formulas that does not hold at the size; empty if all do."""


@recorded("spec", "convention", "defaults", "figures", "parts", "crossings", "assumptions", name="scaling")
@dataclass(frozen=True, slots=True)
class ScalingReport(Result):
    """Scaling of a network with some of its sizes."""

    spec: str
    """Name of the spec."""
    about: str
    convention: str
    """Counting convention of the work."""
    defaults: Mapping[str, int]
    """Sizes at which each size is while another one grows."""
    figures: tuple[FigureScaling, ...]
    parts: tuple[PartScaling, ...]
    """Parts whose crossings are looked for, the greatest ones."""
    crossings: tuple[PartCrossing, ...]
    assumptions: tuple[str, ...]
    """Claims about the sizes that the formulas rely on."""


def scaling_report(
    analysis: Analysis, sizes: Mapping[str, Sequence[int]], defaults: Mapping[str, int]
) -> ScalingReport:
    """Return the scaling of a network whose program has symbols for the names in ``sizes``.

    Args:
        analysis: the counted network.
        sizes: sizes at which figures are given, by name.
        defaults: sizes of these names while another one grows.
    """
    program, settle = analysis.program, Settled(analysis.program.assumptions)
    figures: list[FigureScaling] = []
    parts: list[tuple[PartScaling, Dim]] = []
    found: list[PartCrossing] = []
    tree = list(_parts(analysis.tree(), 1))
    for name, points in sizes.items():
        others = {other: size for other, size in defaults.items() if other != name}
        for figure in map(FIGURES.__getitem__, _FIGURES):
            total = substitute(settle(figure.of(analysis.total)), others)
            if figure.phase not in analysis.phases or not isinstance(total, Poly):
                continue
            figures.append(_figure(figure, total, name, points))
            if figure.name in ("macs", "params"):
                own = _greatest(tree, figure, settle, others, name, points)
                parts += own
                bounds = _bounds(total, name)
                found += _crossings(figure.name, name, own, bounds, program.assumptions, others)
    return ScalingReport(
        program.name,
        program.about,
        analysis.convention.name,
        dict(defaults),
        tuple(figures),
        tuple(part for part, _ in parts),
        tuple(found),
        tuple(map(claimed, program.assumptions)),
    )


def _figure(figure: Figure, total: Poly, name: str, points: Sequence[int]) -> FigureScaling:
    found = growth(total, name, {})
    unit = {"elements": "parameters", "macs": "MAC"}.get(figure.unit, "FLOP")
    terms = [Poly({monomial: coefficient}) for monomial, coefficient in total.monomials()]
    return FigureScaling(
        figure.name,
        name,
        unit,
        formula(total),
        None if found is None else found.degree,
        None if found is None else str(found.coefficient),
        None if found is None else found.kind,
        tuple(formula(_sized(each)) for each in terms),
        tuple(_point(total, terms, name, size) for size in points),
    )


def _sized(term: Poly) -> Dim:
    """Return a term, without the polynomial form of a constant."""
    constant = [coefficient for monomial, coefficient in term.monomials() if not monomial]
    return constant[0] if constant else term


def _point(total: Poly, terms: Sequence[Poly], name: str, size: int) -> ScalingPoint:
    value, twice = total.at({name: size}), total.at({name: 2 * size})
    shares = tuple(float(Fraction(term.at({name: size}), value)) if value else 0.0 for term in terms)
    return ScalingPoint(size, value, float(Fraction(twice, value)) if value else None, shares)


def _parts(rows: Iterable[Row], times: Dim) -> Iterator[tuple[str, Row, Dim]]:
    """Yield path, row and number of instances of the parts: children of the outermost repeats, and rows beside them."""
    for row in rows:
        path = NUMBERS.sub("*", row.title)
        if row.children and isinstance(row.repeat, int) and row.repeat == 1 and _repeats(row):
            yield from _parts(row.children, times)
        elif row.children and not (isinstance(row.repeat, int) and row.repeat == 1):
            yield from ((NUMBERS.sub("*", child.title), child, times * row.repeat) for child in row.children)
        else:
            yield path, row, times


def _repeats(row: Row) -> bool:
    """Return True if a row below this one stands for several instances."""
    return any(not (isinstance(child.repeat, int) and child.repeat == 1) or _repeats(child) for child in row.children)


def _greatest(
    parts: Iterable[tuple[str, Row, Dim]],
    figure: Figure,
    settle: Settled,
    others: Mapping[str, int],
    name: str,
    points: Sequence[int],
) -> list[tuple[PartScaling, Dim]]:
    """Return the parts that are greatest at some of the sizes, with their formulas."""
    sums: dict[str, Dim] = {}
    for path, row, times in parts:
        size = settle(figure.of(row.total) * times)
        sums[path] = sums.get(path, 0) + substitute(size, others)
    scaled = []
    for path, size in sums.items():
        values = tuple(size if isinstance(size, int) else size.at({name: point}) for point in points)
        if any(values):
            scaled.append((PartScaling(path, figure.name, name, formula(size), values), size))
    scaled.sort(key=lambda part: max(part[0].values), reverse=True)
    return scaled[:_MOST_PARTS]


def _bounds(total: Poly, name: str) -> tuple[int, int | None, int]:
    """Return the least and the greatest size, and the number that divides all sizes."""
    own = [symbol for symbol in total.symbols() if symbol.name == name]
    multiple = lcm(*(symbol.multiple for symbol in own))
    most = next((symbol.most for symbol in own if isinstance(symbol.most, int)), None)
    return max([1, *(symbol.least for symbol in own)]), most, multiple


def _crossings(
    figure: str,
    name: str,
    parts: Sequence[tuple[PartScaling, Dim]],
    bounds: tuple[int, int | None, int],
    assumptions: Iterable[Assumption],
    others: Mapping[str, int],
) -> Iterator[PartCrossing]:
    claims = [claim for claim in assumptions if name in claim.names()]
    for first, first_size in parts:
        for second, second_size in parts:
            if first is second:
                continue
            for crossing in crossings(first_size, second_size, name, *bounds):
                at = {**others, name: crossing.size}
                broken = next((claim for claim in claims if not claim.holds(at)), None)
                beyond = "" if broken is None else claimed(broken)
                yield PartCrossing(figure, name, first.path, second.path, *crossing, beyond)
