"""The reference of the shipped blocks, generated from their declarations: a page for each block."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.reference.blocks import BlockReference
from netcalc.render.operations import (
    attributes_table,
    example_page,
    example_section,
    facts_and_attributes,
    port_text,
    section,
)
from netcalc.render.page import Line, Page, Paragraph


def block_page(block: BlockReference) -> Page:
    """The page of a block: description, inputs, outputs, source, requirements and arguments."""
    yield Paragraph([Line(f": {block.about}", block.name)])
    yield from facts_and_attributes(_facts(block), attributes_table("argument", block.arguments))
    yield from example_page(block.example)


def block_markdown(block: BlockReference, level: int = 3) -> Iterator[str]:
    """Yield the lines of the page as a Markdown section."""
    arguments = attributes_table("argument", block.arguments)
    yield from section(level, block.name, [block.about], _facts(block), arguments)
    yield from example_section(block.example)


def _facts(block: BlockReference) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(map(port_text, block.inputs)) or "none"
    yield "outputs", ", ".join(map(port_text, block.outputs))
    if block.source:
        yield "source", block.source
    if len(block.arguments) == 1:
        yield "shorthand", f"{block.name}: {block.arguments[0].name.upper()}"
    for requirement in block.requirements:
        yield "requires", requirement
    yield "file", block.file
