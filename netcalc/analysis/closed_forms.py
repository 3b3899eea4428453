"""Closed forms of figures: each term of a total in symbolic sizes, with the layers that give it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import FIGURES, Figure, View, shown_totals
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Assumption, Dim, Poly, claimed, default_of
from netcalc.dims.atoms import Call
from netcalc.dims.formulas import factors, formula, written_term
from netcalc.dims.settled import Settled, joined
from netcalc.dims.terms import Monomial
from netcalc.notation_options import Notation
from netcalc.results import Result, recorded

#: Numbers of instances in a path.
NUMBERS = re.compile(r"(?<![^.])(?:[\d,…–]+|\d+–\([^)]*\))(?![^.])")
#: Units of the figures in text.
_UNITS = {"elements": "parameters", "macs": "MAC", "flops": "FLOP", "bytes": "B"}

#: Figures by view whose closed forms a report shows.
FIGURES_OF_VIEWS: Mapping[View, tuple[str, ...]] = {
    "params": ("params",),
    "flops": ("macs", "flops", "macs_backward", "flops_backward", "flops_total"),
    "summary": ("params", "macs", "flops", "macs_backward", "flops_backward", "flops_total"),
}


class TermSource(NamedTuple):
    """Layers that give a part of a term."""

    path: str
    """Path of the layers, with the numbers of all instances."""
    op: str
    coefficient: int
    """Part of the coefficient of the term; negative where a layer takes something away."""


class FormulaTerm(NamedTuple):
    """A term of a closed form: a coefficient times powers of sizes and of functions of sizes."""

    text: str
    """The term, as in `12·layers·d_model²`."""
    coefficient: int
    share: float | None
    """Share of the figure at the default sizes; null if a size has none."""
    layers: tuple[TermSource, ...]
    """Layers that give the term, the greatest part first."""


class ClosedForm(NamedTuple):
    """A figure of a network in symbolic sizes."""

    figure: str
    unit: str
    formula: str
    """All terms, in the notation that was asked for."""
    value: int | None
    """Value at the default sizes; null if a size has none."""
    terms: tuple[FormulaTerm, ...]
    """Terms by their share at the default sizes, the greatest first."""


@recorded("spec", "notation", "names", "formulas", "assumptions", name="formulas")
@dataclass(frozen=True, slots=True)
class Formulas(Result):
    """Closed forms of the figures of a network, in one notation."""

    spec: str
    """Name of the spec."""
    notation: Notation
    names: Mapping[str, int | None]
    """Symbolic sizes with their default values; null for one without."""
    formulas: tuple[ClosedForm, ...]
    assumptions: tuple[str, ...]
    """Claims about the sizes that the formulas rely on."""


def closed_forms(analysis: Analysis, view: View, order: Sequence[str] = ()) -> tuple[ClosedForm, ...]:
    """Return the closed forms of parameters and work among the totals of a view, as far as they have symbols."""
    return tuple(_closed_forms(analysis, [FIGURES[name] for name in FIGURES_OF_VIEWS.get(view, ())], order))


def formulas_of(analysis: Analysis, view: View, notation: Notation, order: Sequence[str]) -> Formulas:
    """Return the closed forms of all totals of a view.

    Raises:
        NetcalcError: E404 for a total with a function of sizes that the notation does not have, and for totals without
            symbolic sizes.
    """
    figures = shown_totals(view, [analysis.total], analysis.phases)
    forms = list(_closed_forms(analysis, figures, order, notation))
    if not forms:
        hint = "--symbolic NAME keeps a dim or var as a symbol"
        raise NetcalcError(Diagnostic("E404", f"the totals of {analysis.program.name} have no symbols", hint=hint))
    sizes = [figure.of(analysis.total) for figure in figures]
    return formulas(analysis.program.name, notation, order, forms, sizes, analysis.program.assumptions)


def formulas(
    spec: str,
    notation: Notation,
    order: Sequence[str],
    forms: Iterable[ClosedForm],
    sizes: Iterable[Dim],
    assumptions: Iterable[Assumption],
) -> Formulas:
    """Return closed forms with the names that occur in some sizes, those of ``order`` first."""
    symbols = {s.name: s.default for size in sizes if isinstance(size, Poly) for s in sorted(size.symbols(), key=str)}
    names = {name: symbols[name] for name in [*(n for n in order if n in symbols), *symbols]}
    return Formulas(spec, notation, names, tuple(forms), tuple(map(claimed, assumptions)))


def written(size: Dim, notation: Notation, order: Sequence[str]) -> str:
    """Return a figure in a notation; NetcalcError (E404) if that has no form for it."""
    try:
        return formula(size, notation, order)
    except ValueError as error:
        raise NetcalcError(Diagnostic("E404", f"--formula {notation}: {error}")) from None


def terms_of(
    size: Dim, order: Sequence[str] = (), sources: Iterable[tuple[str, str, Dim]] = ()
) -> Iterator[FormulaTerm]:
    """Yield the terms of a size, the greatest at the default sizes first.

    Args:
        size: the size.
        order: names that come first in a term.
        sources: path, operation and part of the size of each layer.
    """
    if not isinstance(size, Poly):
        return
    parts: dict[Monomial, list[TermSource]] = {}
    for path, op, part in sources:
        for monomial, coefficient in _monomials(part):
            parts.setdefault(monomial, []).append(TermSource(path, op, coefficient))
    whole = default_of(size)
    found = []
    for monomial, coefficient in size.monomials():
        value = default_of(Poly({monomial: coefficient}))
        share = None if whole is None or value is None or whole == 0 else float(Fraction(value, whole))
        layers = sorted(_merged(parts.get(monomial, ())), key=lambda source: -abs(source.coefficient))
        written = factors(monomial, abs(coefficient), order)
        unit = abs(coefficient) // written.coefficient  # that sizes which are multiples take from the coefficient
        if any(layer.coefficient % unit for layer in layers):
            written, unit = factors(monomial, abs(coefficient), order, shared=False), 1
        text = written_term(written)
        found.append(
            FormulaTerm(
                f"−{text}" if coefficient < 0 else text,
                coefficient // unit,
                share,
                tuple(layer._replace(coefficient=layer.coefficient // unit) for layer in layers),
            )
        )
    yield from sorted(found, key=lambda each: -abs(each.share or 0))


def _closed_forms(
    analysis: Analysis, figures: Iterable[Figure], order: Sequence[str], notation: Notation = "text"
) -> Iterator[ClosedForm]:
    """Yield the closed forms of figures that have symbols; of equal ones, such as all that is trained, the first."""
    seen = set()
    settle = Settled(analysis.program.assumptions)
    for figure in figures:
        total = figure.of(analysis.total)
        if isinstance(total, int) or total in seen:
            continue
        seen.add(total)
        sources = [(row.title, row.op, settle(figure.of(row.total))) for row in analysis.counted_leaves()]
        joint = list(_in_turns(sources))
        if len(joint) < len(sources):  # so that layers which take turns add up to the terms
            whole = sum((part for _, _, part in joint), start=0)
            total = whole if isinstance(whole, Poly) and default_of(whole) == default_of(total) else total
        terms = tuple(terms_of(total, order, joint))
        unit = _UNITS.get(figure.unit, figure.unit)
        yield ClosedForm(figure.name, unit, written(total, notation, order), default_of(total), terms)


def _in_turns(sources: Iterable[tuple[str, str, Dim]]) -> Iterator[tuple[str, str, Dim]]:
    """Yield layers with their parts, as one those of which some have a part of their symbolic number.

    These take turns, or are all but a few.
    """
    alike: dict[tuple[str, str], list[tuple[str, str, Dim]]] = {}
    for source in sources:
        alike.setdefault((NUMBERS.sub("*", source[0]), source[1]), []).append(source)
    for (starred, op), layers in alike.items():
        if len(layers) > 1 and any(isinstance(size, Poly) and _is_part(size) for _, _, size in layers):
            yield starred, op, joined(sum((size for _, _, size in layers), start=0))
        else:
            yield from layers


def _is_part(size: Poly) -> bool:
    return any(coefficient < 0 or _divides(monomial) for monomial, coefficient in size.monomials())


def _divides(monomial: Monomial) -> bool:
    return any(isinstance(atom, Call) and atom.function == "//" for atom, _ in monomial)


def _merged(sources: Iterable[TermSource]) -> Iterator[TermSource]:
    """Yield sources, those of one path as one, without those that cancel."""
    merged: dict[str, TermSource] = {}
    for source in sources:
        before = merged.get(source.path)
        merged[source.path] = source._replace(coefficient=source.coefficient + (before.coefficient if before else 0))
    yield from (source for source in merged.values() if source.coefficient)


def _monomials(size: Dim) -> Iterator[tuple[Monomial, int]]:
    if isinstance(size, Poly):
        yield from size.monomials()
    elif size:
        yield (), size
