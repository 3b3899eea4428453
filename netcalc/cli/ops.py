"""Without a name, a list; with one, its page: attributes, shape rule, parameter rule, cost rule, source, example."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

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
) -> None:
    """Lists operations, or shows the page of one."""
    from netcalc.cli.output import look_for, write

    found = _one(name) if name else _matching(search)
    match format_:
        case options.Format.JSON:
            return write(_json(found, single=name is not None), output)
        case options.Format.MARKDOWN:
            return write(_markdown(found, single=name is not None), output)
        case options.Format.CSV:
            return write(_csv(found), output)
    from netcalc.render.grid import Column, grid
    from netcalc.render.operations import about, operation_page

    look = look_for(output)
    if name:
        return write([operation_page(found[0], look)], output)
    columns = [Column("operation"), Column("family", spare=1), Column("what it is")]
    return write([grid(columns, [[op.name, _family(op), about(op)] for op in found], look)], output)


def _one(name: str) -> list[type[Operation]]:
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

    found = list(ops.every().values())
    if word is None:
        return found
    found = [op for op in found if word.lower() in f"{op.name} {_family(op)} {op.__doc__} {op.reference}".lower()]
    if not found:
        raise NetcalcError(Diagnostic("E102", f"no operation mentions {word!r}"))
    return found


def _family(declared: type[Operation]) -> str:
    from netcalc import ops

    return ops.family(declared.name)


def _json(found: list[type[Operation]], *, single: bool) -> Iterable[str]:
    from netcalc.cli.output import json_lines
    from netcalc.render.operations import operation_record

    if single:
        return json_lines(operation_record(found[0]))
    return json_lines({"operations": [operation_record(op) for op in found]}, rows="operations")


def _markdown(found: list[type[Operation]], *, single: bool) -> Iterable[str]:
    from netcalc.render.operations import operation_markdown

    family = ""
    for op in found:
        if not single and _family(op) != family:
            family = _family(op)
            yield from (f"## {family}", "")
        yield from operation_markdown(op)
        if op is not found[-1]:
            yield ""


def _csv(found: list[type[Operation]]) -> Iterable[str]:
    from netcalc.render.grid import csv_lines
    from netcalc.render.operations import about

    fields = ("name", "family", "about", "source", "shape_rule", "param_rule", "cost_rule")
    rows = ([op.name, _family(op), about(op), op.reference, op.shape_rule, op.param_rule, op.cost_rule] for op in found)
    return csv_lines(fields, rows)
