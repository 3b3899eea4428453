"""The page of an operation has its attributes, shape rule, parameter rule, cost rule, source and an example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netcalc.cli import options

if TYPE_CHECKING:
    from netcalc.opdef import Operation


def command(
    name: Annotated[str | None, typer.Argument(help="An operation, such as conv2d.")] = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="WORD", help="Only operations that mention the word.")
    ] = None,
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
) -> None:
    """List the operations, or show the page of one."""
    from netcalc.cli.output import terminal_for, write
    from netcalc.cli.selection import keys_of
    from netcalc.render.operations import operation_page, operations_data, operations_table
    from netcalc.render.page import page_text
    from netcalc.render.table_csv import table_csv
    from netcalc.render.table_text import table_text

    others: Sequence[type[Operation]] = ()
    if name:
        operations: Sequence[type[Operation]] = _named(name)
    else:
        keys: dict[str, Callable[[type[Operation]], Any]] = keys_of("name")
        keys |= {"family": _family, "source": attrgetter("reference")}
        selection = options.read_selection(sort, top, filter_)
        operations, others = selection.apply(_matching(search), keys, lambda op: (op.name, _family(op)))
    match format_:
        case options.Format.JSON:
            return write(_json(operations, single=name is not None), output)
        case options.Format.MARKDOWN:
            return write(_markdown(operations, single=name is not None), output)
        case options.Format.CSV:
            return write(table_csv(operations_data(operations)), output)
    terminal = terminal_for(output, wide=wide)
    if name:
        return write(page_text(operation_page(operations[0]), terminal), output)
    return write([table_text(operations_table(operations, len(others)), terminal)], output)


def _named(name: str) -> list[type[Operation]]:
    from netcalc import ops
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

    declared = ops.find(name)
    if declared is None:
        hint = did_you_mean(name, ops.names()) or "`netcalc ops --search WORD` looks for one"
        raise NetcalcError(Diagnostic("E102", f"unknown operation {name!r}", hint=hint))
    return [declared]


def _matching(word: str | None) -> list[type[Operation]]:
    from netcalc import ops
    from netcalc.diagnostics import Diagnostic, NetcalcError

    declared = list(ops.every().values())
    if word is None:
        return declared
    matching = [op for op in declared if word.lower() in f"{op.name} {_family(op)} {op.__doc__} {op.reference}".lower()]
    if not matching:
        raise NetcalcError(Diagnostic("E102", f"no operation mentions {word!r}"))
    return matching


def _family(declared: type[Operation]) -> str:
    from netcalc import ops

    return ops.family(declared.name)


def _json(operations: Sequence[type[Operation]], *, single: bool) -> Iterable[str]:
    from netcalc.analysis.reference import reference
    from netcalc.cli.output import json_lines
    from netcalc.records.ops import operation_record, operations_record

    if single:
        return json_lines(operation_record(reference(operations[0])))
    return json_lines(operations_record(map(reference, operations)), rows="operations")


def _markdown(operations: Sequence[type[Operation]], *, single: bool) -> Iterable[str]:
    from netcalc.render.operations import operation_markdown

    family = ""
    for op in operations:
        if not single and _family(op) != family:
            family = _family(op)
            yield from (f"## {family}", "")
        yield from operation_markdown(op)
        if op is not operations[-1]:
            yield ""
