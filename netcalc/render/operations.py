"""The operation reference, generated from the declarations: a list, and a page for each operation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from netcalc import ops
from netcalc.opdef import Port
from netcalc.reference.operations import AttributeReference, Listed, OperationReference
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown


def operations_table(listed: Sequence[Listed], omitted: int = 0) -> Table:
    """Operations and blocks with family and description; ``omitted`` is the number of those left out."""
    columns = [Column("operation", "name"), Column("family", priority=10), Column("description", "prose")]
    return Table(columns, [Row([item.name, item.family, item.about]) for item in listed], omitted=omitted)


def operations_data(listed: Sequence[Listed]) -> Table:
    """Operations with their rules, and blocks, which have none, for CSV."""
    fields = ("name", "family", "about", "source", "shape_rule", "param_rule", "cost_rule")
    rows = []
    for item in listed:
        op = ops.find(item.name)
        rules = ("", "", "") if op is None else (op.shape_rule, op.param_rule, op.cost_rule)
        rows.append(Row([item.name, item.family, item.about, item.source, *rules]))
    return Table([Column(field) for field in fields], rows)


def operation_page(page: OperationReference) -> Page:
    """Description, rules, attributes and an example of an operation."""
    yield Paragraph([Line(f": {page.about}", page.name)])
    for block in filter(None, page.details.split("\n\n")):
        lines = block.split("\n")
        itemised = any(line[:1] in " -*" for line in lines)
        yield Paragraph([Line(line) for line in lines] if itemised else [Line(" ".join(lines))])
    facts = [*_facts(page), ("example", f"- {page.example.line}"), ("", page.example.shapes)]
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
    yield f"Example: `- {page.example.line}` takes {page.example.shapes}."


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
