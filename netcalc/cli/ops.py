"""The page of an operation has its attributes, shape rule, parameter rule, cost rule, source and an example.

Blocks that ship with netcalc are listed after the operations; the page of one has its arguments, inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from netcalc.cli import options
from netcalc.cli.declarations import Argument, Option

if TYPE_CHECKING:
    from netcalc.reference.operations import Listed
    from netcalc.render.page import Page


def command(
    name: Annotated[str | None, Argument(help="An operation or block, such as conv2d.")] = None,
    search: Annotated[
        str | None, Option("--search", metavar="WORD", help="Only operations and blocks that mention the word.")
    ] = None,
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
) -> None:
    """List the operations and blocks, or show the page of one."""
    from netcalc.cli.output import terminal_for, write
    from netcalc.render.operations import operations_data, operations_table
    from netcalc.render.page import page_text
    from netcalc.render.selection import keys_of
    from netcalc.render.table_csv import table_csv
    from netcalc.render.table_text import table_text

    others: Sequence[Listed] = ()
    if name:
        listed: Sequence[Listed] = [_named(name)]
    else:
        selection = options.read_selection(sort, top, filter_)
        keys = keys_of("name", "family", "source")
        listed, others = selection.apply(_matching(search), keys, lambda item: (item.name, item.family))
    match format_:
        case options.Format.JSON:
            return write(_json(listed, single=name is not None), output)
        case options.Format.MARKDOWN:
            return write(_markdown(listed, single=name is not None), output)
        case options.Format.CSV:
            return write(table_csv(operations_data(listed)), output)
    terminal = terminal_for(output, wide=wide)
    if name:
        return write(page_text(_page(name), terminal), output)
    return write([table_text(operations_table(listed, len(others)), terminal)], output)


def _named(name: str) -> Listed:
    """Return the operation or block of a name; NetcalcError (E102) if there is none."""
    from netcalc import ops
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
    from netcalc.reference.blocks import listed_block
    from netcalc.reference.operations import listed_operation
    from netcalc.spec.shipped import shipped_blocks

    declared = ops.find(name)
    if declared is not None:
        return listed_operation(declared)
    if name in shipped_blocks():
        return listed_block(name)
    hint = did_you_mean(name, [*ops.names(), *shipped_blocks()]) or "`netcalc ops --search WORD` looks for one"
    raise NetcalcError(Diagnostic("E102", f"unknown operation or block {name!r}", hint=hint))


def _matching(word: str | None) -> list[Listed]:
    from netcalc import ops
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.reference.blocks import listed_block
    from netcalc.reference.operations import listed_operation
    from netcalc.spec.shipped import shipped_blocks

    everything = [*map(listed_operation, ops.every().values()), *map(listed_block, shipped_blocks())]
    if word is None:
        return everything
    matching = [item for item in everything if word.lower() in " ".join(item).lower()]
    if not matching:
        raise NetcalcError(Diagnostic("E102", f"no operation or block mentions {word!r}"))
    return matching


def _page(name: str) -> Page:
    from netcalc import ops
    from netcalc.reference.blocks import block_reference
    from netcalc.render.blocks import block_page
    from netcalc.render.operations import operation_page

    declared = ops.find(name)
    return operation_page(declared) if declared is not None else block_page(block_reference(name))


def _json(listed: Sequence[Listed], *, single: bool) -> Iterable[str]:
    from netcalc import ops
    from netcalc.records.ops import block_record, operation_record, operations_record
    from netcalc.reference.blocks import block_reference
    from netcalc.reference.operations import reference
    from netcalc.render.json_lines import json_lines

    operations = [reference(op) for op in (ops.find(item.name) for item in listed) if op is not None]
    blocks = [block_reference(item.name) for item in listed if ops.find(item.name) is None]
    if single:
        return json_lines(operation_record(operations[0]) if operations else block_record(blocks[0]))
    return json_lines(operations_record(operations, blocks), rows="operations")


def _markdown(listed: Sequence[Listed], *, single: bool) -> Iterator[str]:
    """Yield the pages in the order of the list, with a heading for each family."""
    from netcalc import ops
    from netcalc.reference.blocks import block_reference
    from netcalc.render.blocks import block_markdown
    from netcalc.render.operations import operation_markdown

    for number, item in enumerate(listed):
        if number:
            yield ""
        if not single and (not number or listed[number - 1].family != item.family):
            yield from (f"## {item.family}", "")
        declared = ops.find(item.name)
        yield from operation_markdown(declared) if declared is not None else block_markdown(block_reference(item.name))
