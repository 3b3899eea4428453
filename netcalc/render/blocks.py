"""The reference of the shipped blocks, generated from their declarations: a page for each block."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.reference.blocks import BlockReference
from netcalc.render.operations import attribute_rows, port_text
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown


def block_page(block: BlockReference) -> Page:
    """The page of a block: description, inputs, outputs, source, requirements and arguments."""
    yield Paragraph([Line(f": {block.about}", block.name)])
    yield Table([Column("fact"), Column("text", "prose")], [Row(fact) for fact in _facts(block)], header=False)
    if block.arguments:
        yield _arguments(block)
    else:
        yield Paragraph([Line("", "no arguments", "dim")])


def block_markdown(block: BlockReference, level: int = 3) -> Iterator[str]:
    """Yield the page as the lines of a Markdown section."""
    yield f"{'#' * level} `{block.name}`"
    yield ""
    yield block.about
    yield ""
    for label, text in _facts(block):
        yield f"- {label}: {text}"
    yield ""
    if block.arguments:
        yield from table_markdown(_arguments(block))
    else:
        yield "No arguments."


def _facts(block: BlockReference) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(map(port_text, block.inputs)) or "none"
    yield "outputs", ", ".join(map(port_text, block.outputs))
    if block.source:
        yield "source", block.source
    for requirement in block.requirements:
        yield "requires", requirement
    yield "file", block.file


def _arguments(block: BlockReference) -> Table:
    columns = [
        Column("argument", "name"),
        Column("type", "prose"),
        Column("default", "prose"),
        Column("description", "prose"),
    ]
    return Table(columns, [Row(row) for row in attribute_rows(block.arguments)])
