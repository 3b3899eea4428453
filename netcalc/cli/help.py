"""TOPIC is a code that an error or warning begins with (E401, W101), or a command.

The page of a code has its meaning, usual causes, an example and its remedy. Without a topic, commands and codes are
listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from netcalc.cli import options
from netcalc.cli.declarations import Argument


def command(
    context: typer.Context,
    topic: Annotated[
        str | None, Argument(metavar="TOPIC", help="A code, such as E401, or a command.", show_default=False)
    ] = None,
    format_: options.TextFormatChoice = options.TextFormat.TABLE,
    output: options.Output = None,
) -> None:
    """Print the page of a code or a command."""
    from netcalc.cli.output import write

    write(_lines(context, topic, format_, output), output)


def _lines(context: typer.Context, topic: str | None, format_: options.TextFormat, output: str | None) -> Iterable[str]:
    """Return the lines of a page; NetcalcError (E502) for an unknown topic or a format that a page does not have."""
    from netcalc.cli.commands import COMMANDS
    from netcalc.cli.output import terminal_for
    from netcalc.diagnostics import CODES, Diagnostic, NetcalcError, did_you_mean
    from netcalc.records.codes import code_record
    from netcalc.reference.codes import code_page, code_reference
    from netcalc.render.codes import code_text, codes_text
    from netcalc.render.json_lines import json_lines

    root = context.find_root()
    if topic is not None and topic.upper() in CODES:
        match format_:
            case options.TextFormat.JSON:
                return json_lines(code_record(code_reference(topic)))
            case options.TextFormat.MARKDOWN:
                return code_page(topic).rstrip("\n").split("\n")
            case options.TextFormat.CSV:
                raise NetcalcError(Diagnostic("E502", "the page of a code has no CSV", hint="--format json"))
        return code_text(code_reference(topic), terminal_for(output))
    if topic is not None and topic not in COMMANDS:
        hint = did_you_mean(topic, [*COMMANDS, *CODES]) or "`netcalc help` lists commands and codes"
        raise NetcalcError(Diagnostic("E502", f"there is no command and no code {topic!r}", hint=hint))
    if format_ is not options.TextFormat.TABLE:
        raise NetcalcError(Diagnostic("E502", f"only the page of a code has --format {format_.value}"))
    if topic is None:
        return [root.get_help(), "", "Codes of errors and warnings:", "", *codes_text(terminal_for(output))]
    return [_command_help(root, topic)]


def _command_help(root: Any, name: str) -> str:
    """Return the help page of a command, from the context of the command line."""
    found = root.command.get_command(root, name)
    context = type(root)(found, info_name=name, parent=root)
    page: str = found.get_help(context)
    return page
