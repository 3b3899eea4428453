"""The operation reference, generated from the declarations: a list, and a page for each operation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from netcalc import ops
from netcalc.analysis.reference import OperationReference, about, reference
from netcalc.opdef import Operation, Port
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown

__all__ = [
    "operation_markdown",
    "operation_page",
    "operations_data",
    "operations_table",
]


def operations_table(declared: Sequence[type[Operation]], omitted: int = 0) -> Table:
    """Operations with family and description; ``omitted`` is the number of operations left out."""
    columns = [Column("operation", "name"), Column("family", priority=10), Column("description", "prose")]
    return Table(columns, [Row([op.name, ops.family(op.name), about(op)]) for op in declared], omitted=omitted)


def operations_data(declared: Sequence[type[Operation]]) -> Table:
    """Operations with their rules, for CSV."""
    fields = ("name", "family", "about", "source", "shape_rule", "param_rule", "cost_rule")
    rows = [
        Row([op.name, ops.family(op.name), about(op), op.reference, op.shape_rule, op.param_rule, op.cost_rule])
        for op in declared
    ]
    return Table([Column(field) for field in fields], rows)


def operation_page(declared: type[Operation]) -> Page:
    """The page of an operation: description, rules, attributes and an example."""
    page = reference(declared)
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
        yield Table(columns, [Row(row) for row in _attribute_rows(page)])
    else:
        yield Paragraph([Line("", "no attributes", "dim")])


def operation_markdown(declared: type[Operation], level: int = 3) -> Iterator[str]:
    """Yield the page as the lines of a Markdown section."""
    page = reference(declared)
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
        rows = [Row([f"`{row[0]}`", *row[1:]]) for row in _attribute_rows(page)]
        yield from table_markdown(Table(columns, rows))
    else:
        yield "No attributes."
    yield ""
    yield f"Example: `- {page.example_line}` takes {page.example_shapes}."


def _facts(page: OperationReference) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(map(_port_text, page.inputs)) or "none"
    if len(page.outputs) != 1:
        yield "outputs", ", ".join(map(_port_text, page.outputs))
    yield "shapes", page.shape_rule
    yield "parameters", page.param_rule
    yield "work", page.cost_rule
    yield "source", page.source
    if page.shorthand:
        yield "shorthand", f"{page.name}: {page.shorthand.upper()}"


def _attribute_rows(page: OperationReference) -> Iterator[list[str]]:
    for attribute in page.attributes:
        default = "required" if attribute.required else json.dumps(attribute.default, ensure_ascii=False)
        yield [attribute.name, attribute.type, default, attribute.description]


def _port_text(port: Port) -> str:
    kind = " (optional)" if port.optional else " (one or more)" if port.variadic else ""
    return f"{port.name}{kind}"
