"""The operation reference, generated from the declarations: a list, and a page for each operation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from netcalc import ops
from netcalc.opdef import Port
from netcalc.reference.blocks import block_reference
from netcalc.reference.operation_list import OperationList, OperationPage
from netcalc.reference.operations import AttributeReference, Listed, OperationReference, reference
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown

__all__ = ["PRESENTATIONS", "attribute_rows", "operation_markdown", "port_text"]


class _Operations(Presentation[OperationList]):
    listed = "operations"
    names = staticmethod(attrgetter("name", "family"))

    def rows(self, result: OperationList, view: View) -> Sequence[Listed]:
        return result.entries

    def keys(self, result: OperationList) -> Mapping[str, Callable[[Any], Any]]:
        return keys_of("name", "family", "source")

    def page(self, result: OperationList, rows: Selected[Listed], view: View) -> Page:
        yield _table(rows.shown, len(rows.others))

    def markdown(self, result: OperationList, rows: Selected[Listed], view: View) -> Iterator[str]:
        for number, (family, entries) in enumerate(groupby(rows.shown, lambda entry: entry.family)):
            yield from ("", f"## {family}") if number else (f"## {family}",)
            for entry in entries:
                yield ""
                yield from _markdown(entry)

    def data(self, result: OperationList, rows: Selected[Listed], view: View) -> Table:
        return _data(rows.shown)

    def record(self, result: OperationList, rows: Selected[Listed], view: View) -> Mapping[str, Any]:
        from netcalc.records.ops import operations_record

        operations = [reference(op) for op in (ops.find(entry.name) for entry in rows.shown) if op is not None]
        return operations_record(operations, [block_reference(e.name) for e in rows.shown if ops.find(e.name) is None])


class _Operation(Presentation[OperationPage]):
    listed = ""

    def page(self, result: OperationPage, rows: Selected[Any], view: View) -> Page:
        from netcalc.render.blocks import block_page

        return _page(result.page) if isinstance(result.page, OperationReference) else block_page(result.page)

    def markdown(self, result: OperationPage, rows: Selected[Any], view: View) -> Iterator[str]:
        return _markdown(result.entry)

    def data(self, result: OperationPage, rows: Selected[Any], view: View) -> Table:
        return _data([result.entry])

    def record(self, result: OperationPage, rows: Selected[Any], view: View) -> Mapping[str, Any]:
        from netcalc.records.ops import block_record, operation_record

        return (
            operation_record(result.page) if isinstance(result.page, OperationReference) else block_record(result.page)
        )


def _markdown(entry: Listed) -> Iterator[str]:
    """Return the section of an operation or block."""
    from netcalc.render.blocks import block_markdown

    declared = ops.find(entry.name)
    return operation_markdown(reference(declared)) if declared else block_markdown(block_reference(entry.name))


PRESENTATIONS: Mapping[str, Presentation[Any]] = {"OperationList": _Operations(), "OperationPage": _Operation()}


def _table(listed: Sequence[Listed], omitted: int = 0) -> Table:
    """Operations and blocks with family and description; ``omitted`` is the number of those left out."""
    columns = [Column("operation", "name"), Column("family", priority=10), Column("description", "prose")]
    return Table(columns, [Row([item.name, item.family, item.about]) for item in listed], omitted=omitted)


def _data(listed: Sequence[Listed]) -> Table:
    """Operations with their rules, and blocks, which have none, for CSV."""
    fields = ("name", "family", "about", "source", "shape_rule", "param_rule", "cost_rule")
    rows = []
    for item in listed:
        op = ops.find(item.name)
        rules = ("", "", "") if op is None else (op.shape_rule, op.param_rule, op.cost_rule)
        rows.append(Row([item.name, item.family, item.about, item.source, *rules]))
    return Table([Column(field) for field in fields], rows)


def _page(page: OperationReference) -> Page:
    """Description, rules, attributes and an example of an operation."""
    yield Paragraph([Line(f": {page.about}", page.name)])
    for block in filter(None, page.details.split("\n\n")):
        lines = block.split("\n")
        itemised = any(line[:1] in " -*" for line in lines)
        yield Paragraph([Line(line) for line in lines] if itemised else [Line(" ".join(lines))])
    facts = [*_facts(page), ("example", f"- {page.example_line}"), ("", page.example_shapes)]
    yield Table([Column("fact"), Column("text", "prose")], [Row(fact) for fact in facts], header=False)
    if page.attributes:
        columns = [
            Column("attribute", "name"),
            Column("type", "prose"),
            Column("default", "prose"),
            Column("description", "prose"),
        ]
        yield Table(columns, [Row(row) for row in attribute_rows(page.attributes)])
    else:
        yield Paragraph([Line("", "no attributes", "dim")])


def operation_markdown(page: OperationReference, level: int = 3) -> Iterator[str]:
    """Yield the page as the lines of a Markdown section."""
    yield f"{'#' * level} `{page.name}`"
    yield ""
    yield page.about
    if page.details:
        yield ""
        yield page.details.replace("``", "`")
    yield ""
    for label, text in _facts(page):
        yield f"- {label}: {text}"
    yield ""
    if page.attributes:
        columns = [Column("attribute"), Column("type"), Column("default"), Column("description")]
        rows = [Row([f"`{row[0]}`", *row[1:]]) for row in attribute_rows(page.attributes)]
        yield from table_markdown(Table(columns, rows))
    else:
        yield "No attributes."
    yield ""
    yield f"Example: `- {page.example_line}` takes {page.example_shapes}."


def _facts(page: OperationReference) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(map(port_text, page.inputs)) or "none"
    if len(page.outputs) != 1:
        yield "outputs", ", ".join(map(port_text, page.outputs))
    yield "shapes", page.shape_rule
    yield "parameters", page.param_rule
    yield "work", page.cost_rule
    yield "source", page.source
    if page.shorthand:
        yield "shorthand", f"{page.name}: {page.shorthand.upper()}"


def attribute_rows(attributes: Iterable[AttributeReference]) -> Iterator[list[str]]:
    """Yield name, type, default and description of attributes or arguments."""
    for attribute in attributes:
        default = "required" if attribute.required else json.dumps(attribute.default, ensure_ascii=False)
        yield [attribute.name, attribute.type, default, attribute.description]


def port_text(port: Port) -> str:
    """Write an input or output, with its properties in parentheses."""
    kind = " (optional)" if port.optional else " (one or more)" if port.variadic else ""
    return f"{port.name}{kind}"
