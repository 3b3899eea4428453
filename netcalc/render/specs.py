"""Lists of shipped specs, and the page of one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from netcalc.diagnostics import written
from netcalc.dims import Poly
from netcalc.reference.spec_list import ListedSpec, SpecList
from netcalc.reference.specs import PublishedReference, SettingReference, SpecReference, TensorReference
from netcalc.render.numbers import exact, short
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Elements, Kind, Row, Table, rows_shown
from netcalc.render.table_markdown import table_markdown
from netcalc.render.tree import by_group
from netcalc.spec.shipped import CatalogueEntry


class _Specs(Presentation[SpecList]):
    listed = "specs"
    names = staticmethod(attrgetter("name", "family"))

    def rows(self, result: SpecList, view: View) -> Sequence[CatalogueEntry]:
        return result.entries

    def keys(self, result: SpecList) -> Mapping[str, Callable[[CatalogueEntry], Any]]:
        keys: dict[str, Callable[[CatalogueEntry], Any]] = keys_of("name", "family", "params", "about", "source")
        return keys | {"macs": lambda spec: spec.macs[result.convention]}

    def page(self, result: SpecList, rows: Selected[CatalogueEntry], view: View) -> Page:
        note = Line(_specs_note(result.convention))
        if view.selection.active:
            yield _specs_table(rows.shown, result.convention)._replace(omitted=len(rows.others))
            yield Paragraph([note])
            return
        table = _specs_table(rows.shown, result.convention)
        yield table._replace(rows=by_group(table.rows, 1))
        yield Paragraph([note, Line("`netcalc specs NAME` shows the dims, vars, inputs and outputs of a spec.")])

    def markdown(self, result: SpecList, rows: Selected[CatalogueEntry], view: View) -> Iterator[str]:
        """Yield a section for each family, in the order of the specs."""
        table = _specs_table(rows.shown, result.convention)
        for group in by_group(table.rows, 1):
            yield from (f"## {group.cells[0]}", "")
            yield from table_markdown(table._replace(rows=group.children))
            yield ""
        if rows.others:
            yield from (rows_shown(len(rows.shown), len(rows.others)), "")
        yield _specs_note(result.convention)

    def data(self, result: SpecList, rows: Selected[CatalogueEntry], view: View) -> Table:
        return _specs_data(rows.shown, result.convention)

    def recorded(self, result: SpecList, rows: Selected[CatalogueEntry]) -> Mapping[str, Any]:
        return {"specs": [ListedSpec.of(entry, result.convention) for entry in rows.shown]}


class _Spec(Presentation[SpecReference]):
    selected_list = listed = ""

    def page(self, result: SpecReference, rows: Selected[Any], view: View) -> Page:
        return _spec_page(result)

    def data(self, result: SpecReference, rows: Selected[Any], view: View) -> Table:
        """Dims and vars of a spec with all fields, for CSV."""
        fields = ("kind", "name", "type", "default", "expression", "limits", "about")
        settings = [
            Row([kind, s.name, s.type, written(s.default, length=sys.maxsize), s.expression, s.limits, s.about])
            for kind, declared in (("dim", result.dims), ("var", result.vars))
            for s in declared
        ]
        return Table([Column(field) for field in fields], settings)


PRESENTATIONS: Mapping[str, Presentation[Any]] = {"SpecList": _Specs(), "SpecReference": _Spec()}


def _specs_table(specs: Sequence[CatalogueEntry], convention: str) -> Table:
    columns = [
        Column("name", "name"),
        Column("family", priority=10),
        Column("params", "amount"),
        Column("MACs", "amount", digits=4),
        Column("description", "line"),
    ]
    rows = [Row([s.name, s.family, Elements(s.params), s.macs[convention], s.about]) for s in specs]
    return Table(columns, rows)


def _specs_data(specs: Sequence[CatalogueEntry], convention: str) -> Table:
    """Specs with all fields, for CSV."""
    fields = ("name", "family", "params", "macs", "about", "source", "aliases", "tags", "file")
    rows = [
        Row(
            [
                s.name,
                s.family,
                s.params,
                s.macs[convention],
                s.about,
                s.source,
                " ".join(s.aliases),
                " ".join(s.tags),
                s.file,
            ]
        )
        for s in specs
    ]
    return Table([Column(field, "total" if field in ("params", "macs") else "text") for field in fields], rows)


def _specs_note(convention: str) -> str:
    """Return the remark below a list of specs."""
    return f"MACs: multiply-adds of one forward pass at the default sizes, counted as {convention} does."


def _spec_page(spec: SpecReference) -> Page:
    """The page of a spec: facts, dims, vars, inputs, outputs, inputs of the loss, and published figures."""
    yield Paragraph([Line(f": {spec.about}" if spec.about else "", spec.name)])
    yield Table([Column("fact"), Column("text", "prose")], [Row(fact) for fact in _facts(spec)], header=False)
    for title, settings in (("dim", spec.dims), ("var", spec.vars)):
        if settings:
            yield _settings(title, settings)
    loss_inputs = spec.loss.inputs if spec.loss else ()
    for title, tensors in (("input", spec.inputs), ("output", spec.outputs), ("input of the loss", loss_inputs)):
        if tensors:
            yield _tensors(title, tensors)
    if spec.published:
        yield _published(spec.published)
    if spec.file:
        yield Paragraph([Line(f"file: {spec.file}")], verbatim=True)


def _published(figures: Sequence[PublishedReference]) -> Table:
    """Return the figures that sources print, beside the counted ones; quoted results are marked as such."""
    columns = [
        Column("published", "name"),
        Column("value"),
        Column("counted"),
        Column("where", "prose"),
        Column("note", "prose"),
    ]
    rows = []
    for p in figures:
        digits = exact if isinstance(p.value, int) else partial(short, digits=4)
        counted = "quoted" if p.counted is None else digits(p.counted)
        sizes = [f"at {', '.join(f'{name}={value}' for name, value in p.set.items())}"] if p.set else []
        left_out = [f"without {', '.join(p.exclude)}"] if p.exclude else []
        reason = f"miscounted: {p.miscounted}" if p.miscounted else p.note
        note = "; ".join(filter(None, (*sizes, *left_out, reason)))
        rows.append(Row([p.figure, str(p.value), counted, p.where, note]))
    return Table(columns, rows)


def _facts(spec: SpecReference) -> Iterator[tuple[str, str]]:
    facts: Mapping[str, Any] = {
        "family": spec.family,
        "parameters": exact(spec.params),
        "MACs": f"{exact(spec.macs)} in one forward pass at the default sizes, counted as {spec.convention} does",
        "source": spec.source,
        "extends": spec.extends,
        "aliases": ", ".join(spec.aliases),
        "tags": ", ".join(spec.tags),
        "dtype": spec.checkpoint_dtype and f"{spec.checkpoint_dtype}, as in the published checkpoint",
    }
    yield from ((name, text) for name, text in facts.items() if text)
    if spec.loss:
        yield "loss", f"{', '.join(spec.loss.operations)} of {', '.join(spec.loss.sources)}"
    yield from (("requires", requirement) for requirement in spec.requirements)


def _settings(title: str, settings: Sequence[SettingReference]) -> Table:
    columns = [
        Column(title, "name"),
        Column("type", priority=20),
        Column("default", "prose"),
        Column("limits", "prose", priority=30),
        Column("meaning", "prose"),
    ]
    rows = [Row([s.name, s.type, _default(s), s.limits, s.about]) for s in settings]
    return Table(columns, rows)


def _default(setting: SettingReference) -> str:
    value = setting.default
    if isinstance(value, Poly) and not setting.expression:
        return "symbolic"
    shown = written(value)
    return f"{shown} = {_formula(setting.expression)}" if setting.expression else shown


def _formula(expression: str) -> str:
    """Return an expression without its ``${}`` if it is the whole text."""
    is_formula = expression.startswith("${") and expression.endswith("}") and expression.count("${") == 1
    return expression[2:-1] if is_formula else expression


def _tensors(title: str, tensors: Sequence[TensorReference]) -> Table:
    shape: Kind = "shape"
    columns = [
        Column(title, "name"),
        Column("shape", shape),
        Column("type"),
        Column("default"),
        Column("meaning", "prose"),
    ]
    rows = [
        Row([t.name, t.type.shape, t.type.dtype, "" if t.default is None else f"{t.default:g}", t.about])
        for t in tensors
    ]
    return Table(columns, rows)
