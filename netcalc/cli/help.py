"""TOPIC is a code that an error or warning begins with (E401, W101), or a command.

The page of a code has its meaning, usual causes, an example and its remedy. Without a topic, commands and codes are
listed. -o netcalc.1 writes a manual page, of a command or of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import OutputOptions, TextFormatOptions
from netcalc.cli.verb import Call, verb

_TOPIC = Declared(
    "topic", str | None, None, Argument(metavar="TOPIC", help="A code, such as E401, or a command.", show_default=False)
)


def _files(call: Call) -> tuple[str, ...]:
    """Return the suffixes of the files that a page is written to."""
    return ("", ".txt", ".md", ".json") if _is_code(call["topic"]) else ("", ".txt", ".1")


@verb(TextFormatOptions, OutputOptions, arguments=(_TOPIC,), without=["wide"], writes=_files)
def command(call: Call) -> None:
    """Print the page of a code or a command."""
    from netcalc.cli.output import write

    write(_page_lines(call), call["output"])


def _page_lines(call: Call) -> Iterable[str]:
    """Return the lines of a page; NetcalcError (E502) for an unknown topic or a format that a page does not have."""
    from netcalc.cli.commands import COMMANDS
    from netcalc.cli.manual import manual
    from netcalc.cli.suffixes import suffix_of
    from netcalc.diagnostics import CODES, Diagnostic, NetcalcError, did_you_mean
    from netcalc.records.writing import record
    from netcalc.reference.codes import code_page, code_reference
    from netcalc.reference.operation_list import operation_names
    from netcalc.render.codes import code_text, codes_text
    from netcalc.render.json_lines import json_lines

    topic, format_ = call["topic"], call.format
    if _is_code(topic):
        match format_:
            case "json":
                return json_lines(record(code_reference(topic)))
            case "markdown":
                return code_page(topic).rstrip("\n").split("\n")
            case "csv":
                raise NetcalcError(Diagnostic("E502", "the page of a code has no CSV", hint="--format json"))
        return code_text(code_reference(topic), call.terminal(call["output"]))
    if topic is not None and topic not in COMMANDS:
        hint = did_you_mean(topic, [*COMMANDS, *CODES]) or "`netcalc help` lists commands and codes"
        if topic in operation_names():
            hint = f"`netcalc ops {topic}` prints the page of {topic}"
        raise NetcalcError(Diagnostic("E502", f"there is no command and no code {topic!r}", hint=hint))
    if format_ != "table":
        raise NetcalcError(Diagnostic("E502", f"only the page of a code has --format {format_}"))
    if suffix_of(call["output"]) == ".1":
        return manual(topic)
    if topic is None:
        return [_help(call), "", "Codes of errors and warnings:", "", *codes_text(call.terminal(call["output"]))]
    return [_help(call, topic)]


def _is_code(topic: str | None) -> bool:
    from netcalc.diagnostics import CODES

    return topic is not None and topic.upper() in CODES


def _help(call: Call, command: str = "") -> str:
    """Return the help page of a command, or of all, unless it is printed at once."""
    from contextlib import nullcontext, redirect_stdout
    from io import StringIO

    import typer

    from netcalc.cli.app import app

    group: Any = typer.main.get_command(app)
    context = group.context_class(group, info_name="netcalc")
    if command:
        single = group.get_command(context, command)
        context = group.context_class(single, info_name=command, parent=context)
    to_file = StringIO()
    with nullcontext() if call["output"] is None else redirect_stdout(to_file):
        page: str = context.get_help()  # rich prints it
    return to_file.getvalue() or page
