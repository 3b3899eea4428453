"""The operation reference, generated from the declarations: a list, and a page for each operation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from netcalc import ops
from netcalc.opdef import Port
from netcalc.reference.examples import ExampleReference
from netcalc.reference.operations import AttributeReference, Listed, OperationReference
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown


def operations_table(listed: Sequence[Listed], omitted: int = 0) -> Table:
    """Operations and blocks with family and description; ``omitted`` is the number of those left out."""
    columns = [Column("operation", "name"), Column("family", priority=10), Column("description", "line")]
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
    yield from facts_and_attributes(_facts(page), attributes_table("attribute", page.attributes))
    yield from example_page(page.example)


def operation_markdown(page: OperationReference, level: int = 3) -> Iterator[str]:
    """Yield the page as the lines of a Markdown section."""
    details = [page.details.replace("``", "`")] if page.details else []
    table = attributes_table("attribute", page.attributes)
    quoted = [Row([f"`{name}`", *others]) for name, *others in (row.cells for row in table.rows)]
    yield from section(level, page.name, [page.about, *details], _facts(page), table._replace(rows=quoted))
    yield from example_section(page.example)


def facts_and_attributes(facts: Iterable[tuple[str, str]], attributes: Table) -> Page:
    """The facts of a page as a table, and the attributes or arguments."""
    yield Table([Column("fact"), Column("text", "prose")], [Row(fact) for fact in facts], header=False)
    yield attributes if attributes.rows else Paragraph([Line("", f"no {attributes.columns[0].title}s", "dim")])


def example_page(example: ExampleReference) -> Page:
    """The shapes of an example and its spec."""
    yield Paragraph([Line(f": {example.shapes}", "example")])
    yield Paragraph([Line(line) for line in example.spec.splitlines()], verbatim=True)


def example_section(example: ExampleReference) -> Iterator[str]:
    """Yield the shapes of an example and its spec, as the end of a Markdown section."""
    yield from ("", f"Example, {example.shapes}:", "", "```yaml", *example.spec.splitlines(), "```")


def section(
    level: int, name: str, paragraphs: Iterable[str], facts: Iterable[tuple[str, str]], attributes: Table
) -> Iterator[str]:
    """Yield a Markdown section: paragraphs, facts, and a table of attributes or arguments."""
    yield f"{'#' * level} `{name}`"
    for paragraph in paragraphs:
        yield from ("", paragraph)
    yield ""
    yield from (f"- {label}: {text}" for label, text in facts)
    yield ""
    if attributes.rows:
        yield from table_markdown(attributes)
    else:
        yield f"No {attributes.columns[0].title}s."


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


def attributes_table(title: str, attributes: Iterable[AttributeReference]) -> Table:
    """Table of attributes or arguments, whose names stand below the ``title``."""
    columns = [Column(title, "name"), *(Column(name, "prose") for name in ("type", "default", "description"))]
    rows = []
    for attribute in attributes:
        default = "required" if attribute.required else json.dumps(attribute.default, ensure_ascii=False)
        rows.append(Row([attribute.name, attribute.type, default, attribute.description]))
    return Table(columns, rows)


def port_text(port: Port) -> str:
    """Write an input or output, with its properties in parentheses."""
    properties = {"optional": port.optional, "one or more": port.variadic, f"by default {port.default}": port.default}
    stated = ", ".join(text for text, holds in properties.items() if holds)
    return f"{port.name} ({stated})" if stated else port.name
