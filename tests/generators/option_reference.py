"""The page of all options, generated from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter
from typing import Any

from netcalc import export_options, options, run_options, serving_options, split_options
from netcalc.arguments import options_of
from netcalc.cli.commands import COMMANDS, command_module
from netcalc.cli.declarations import Argument, Declared
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown

_HEAD = """# Options

Generated from `options.py` and the modules of options beside it, and what commands add to them in `cli/`. An option
means the same in every command. Most are arguments of the function or method of the same name in
[Python](python-api.md), under the name in the second column."""


def option_reference() -> Iterator[str]:
    """Yield the lines of the page: the arguments and options of each command."""
    yield from _HEAD.split("\n")
    for name, about in COMMANDS.items():
        yield from ("", f"## netcalc {name}", "", about, "")
        columns = [Column("option"), Column("Python"), Column("default"), Column("meaning")]
        rows = [Row(_cells(parameter)) for parameter in command_module(name).command.parameters]
        yield from (line.replace("*", r"\*") for line in table_markdown(Table(columns, rows)))


def _cells(declared: Declared) -> list[str]:
    settings = declared.declaration.settings
    metavar = settings.get("metavar") or "|".join(settings.get("choices", ()))
    if isinstance(declared.declaration, Argument):
        label = metavar or declared.name.upper()
    else:
        label = ", ".join(f"`{name}`" for name in declared.declaration.names) + (f" {metavar}" if metavar else "")
    return [
        label,
        f"`{declared.name}`" if declared.name in _python_names() else "",
        _default(declared),
        settings["help"],
    ]


def _default(declared: Declared) -> str:
    shown: Any = declared.declaration.settings.get("show_default") or declared.default
    if declared.default is Parameter.empty:
        return "required"
    return "" if shown in (None, False) else str(shown)


def _python_names() -> set[str]:
    modules = vars(options) | vars(serving_options) | vars(split_options) | vars(run_options) | vars(export_options)
    groups = (group for name, group in modules.items() if name.endswith("Options"))
    return {name for group in groups if group is not options.SelectOptions for name in options_of(group)}
