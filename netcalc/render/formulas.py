"""Closed forms: the tables of their terms in a report, and the formulas alone in a notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from netcalc.analysis.closed_forms import ClosedForm, Formulas, TermSource
from netcalc.analysis.figures import FIGURES
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Share, Table

#: Numbers of a symbolic number of instances in a path.
_SYMBOLIC_NUMBERS = re.compile(r"\d+–\([^)]*\)")
_BETWEEN_TERMS = re.compile(" [+−] ")
#: Terms of a closed form that a report shows, and layers of a term.
_MOST_TERMS, _MOST_LAYERS = 10, 4
#: Characters of a formula in a line of text, and of a term in a table.
_LONGEST, _LONGEST_TERM = 320, 72


class _Formulas(Presentation[Formulas]):
    selected_list = "formulas"
    names = staticmethod(lambda form: (form.figure,))

    def page(self, result: Formulas, rows: Selected[ClosedForm], view: View) -> Page:
        yield Paragraph([Line(line) for line in formula_lines(result, rows.shown)], verbatim=True)

    def data(self, result: Formulas, rows: Selected[ClosedForm], view: View) -> Table:
        columns = [Column("figure"), Column("unit"), Column("formula"), Column("value", "total")]
        return Table(columns, [Row([form.figure, form.unit, form.formula, form.value]) for form in rows.shown])


PRESENTATIONS = {"Formulas": _Formulas()}


def formula_lines(result: Formulas, forms: Sequence[ClosedForm]) -> Iterator[str]:
    """Yield the lines of formulas in their notation, with the assumptions."""
    mark = {"text": "", "latex": "% "}.get(result.notation, "# ")
    if result.notation == "sympy":
        yield "from sympy import Max, Min, ceiling, floor, log, symbols"
        yield ""
        names = list(result.names)
        yield f'{", ".join(names)} = symbols("{" ".join(names)}", integer=True, nonnegative=True)'
    for form in forms:
        yield from _written(result, form)
    for claim in result.assumptions:
        yield f"{mark}assuming {claim}"


def _written(result: Formulas, form: ClosedForm) -> Iterable[str]:
    if result.notation == "python":
        given = [
            f"{name}: int" + ("" if default is None else f" = {default}") for name, default in result.names.items()
        ]
        given.sort(key=lambda text: "=" in text)
        return (f"def {form.figure}({', '.join(given)}) -> int:", f"    return {form.formula}", "")
    if result.notation == "latex":
        figure = form.figure.replace("_", "\\_")
        return (f"\\mathrm{{{figure}}} = {form.formula}",)
    unit = f" {form.unit}" if result.notation == "text" else ""
    return (f"{form.figure} = {form.formula}{unit}",)


def clipped(formula: str, longest: int) -> str:
    """Return the first terms of a formula that is longer than so many characters, or the first operands of a maximum.

    >>> clipped("3·length² + 12·length + 40", 24), clipped("max(length + 2, 40 + width)", 24)
    ('3·length² + 12·length …', 'max(length + 2 …')
    """
    if len(formula) <= longest:
        return formula
    between = re.compile(", ") if ", " in formula else _BETWEEN_TERMS
    ends = [found.start() for found in between.finditer(formula, 0, longest)]
    return f"{formula[: ends[-1] if ends else longest]} …"


def form_text(form: ClosedForm) -> str:
    """Return a figure with its formula and unit, without the smallest terms of a long one."""
    title = FIGURES[form.figure].title
    if len(form.terms) <= _MOST_TERMS and len(form.formula) <= _LONGEST:
        return f"{title} = {form.formula} {form.unit}"
    text = ""
    for term in form.terms[:_MOST_TERMS]:
        signed = f"− {term.text[1:]}" if term.text[0] == "−" else f"+ {term.text}" if text else term.text
        if len(text) + len(signed) > _LONGEST:
            break
        text += f" {signed}" if text else signed
    return f"{title} = {text}{' + ' if text else ''}… ({len(form.terms):,} terms) {form.unit}"


def closed_form_tables(forms: Iterable[ClosedForm]) -> Iterator[Table]:
    """Yield a table of the terms of each closed form with several."""
    yield from (_table(form) for form in forms if len(form.terms) > 1)


def _table(form: ClosedForm) -> Table:
    columns = [
        Column(f"{FIGURES[form.figure].title}, by term", "prose"),
        Column("share", "share"),
        Column("given by", "prose"),
    ]
    rows = []
    for term in form.terms[:_MOST_TERMS]:
        value = None if term.share is None or form.value is None else Share(round(term.share * form.value), form.value)
        text = clipped(term.text, _LONGEST_TERM)
        rows.append(Row([text, value, _layers(term.layers, term.coefficient)]))
    hidden = len(form.terms) - _MOST_TERMS
    notes = [] if form.value is None else [f"shares are those at the defaults, of {form.value:,}"]
    notes += [f"{hidden:,} smaller terms of {FIGURES[form.figure].title} are in --format json"] if hidden > 0 else []
    return Table(columns, rows, notes=notes)


def _layers(layers: Sequence[TermSource], coefficient: int) -> str:
    """Return the layers of a term with their parts of its coefficient."""
    if len(layers) == 1 and layers[0].coefficient == coefficient:
        return _SYMBOLIC_NUMBERS.sub("*", layers[0].path)
    texts = [
        f"{_SYMBOLIC_NUMBERS.sub('*', layer.path or layer.op)} {layer.coefficient:,}" for layer in layers[:_MOST_LAYERS]
    ]
    others: Any = layers[_MOST_LAYERS:]
    if others:
        texts.append(f"{len(others):,} others {sum(layer.coefficient for layer in others):,}")
    return ", ".join(texts)
