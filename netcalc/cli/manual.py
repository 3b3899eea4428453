"""Manual pages (man 7 groff_man) of netcalc and of each command, from the declarations of their options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import Parameter

from netcalc.cli.commands import COMMANDS, GROUPS, command_module
from netcalc.cli.declarations import Argument, Declared
from netcalc.diagnostics import EXIT_CODES
from netcalc.version import __version__

_ABOUT = "exact shapes, parameters, operation counts and memory of neural-network architectures"
_ENVIRONMENT = {
    "NO_COLOR": "Disables colors.",
    "COLUMNS": "Width of tables, in characters.",
}


def manual(command: str | None) -> Iterator[str]:
    """Yield the lines of the manual page of a command, or of all."""
    yield from _whole() if command is None else _page(command)


def manuals() -> Iterator[tuple[str, str]]:
    """Yield the manual pages of netcalc and of each command, as pairs of file name and text.

    Nothing but the standard library is needed.
    """
    for command in (None, *COMMANDS):
        yield "netcalc.1" if command is None else f"netcalc-{command}.1", "\n".join([*manual(command), ""])


def _whole() -> Iterator[str]:
    yield from _head("netcalc", _ABOUT)
    yield from (".B netcalc", r".I command model", ".RI [ options ]")
    yield ".SH COMMANDS"
    for title, commands in GROUPS.items():
        yield f".SS {_quoted(title)}"
        for name, about in commands.items():
            yield from (".TP", rf".BR netcalc\-{_text(name)} (1)", _text(about))
    yield from _entries("EXIT STATUS", {str(code): about for code, about in EXIT_CODES.items()})
    yield from _entries("ENVIRONMENT", _ENVIRONMENT)


def _page(command: str) -> Iterator[str]:
    module = command_module(command)
    yield from _head(f"netcalc-{command}", COMMANDS[command])
    arguments = [item for item in module.command.parameters if isinstance(item.declaration, Argument)]
    yield f".B netcalc {_text(command)}"
    yield from (f".I {_quoted(_label(argument))}" for argument in arguments)
    yield ".RI [ options ]"
    yield ".SH DESCRIPTION"
    for paragraph in (module.__doc__ or "").strip().split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))
    for title, items in (
        ("ARGUMENTS", arguments),
        ("OPTIONS", [item for item in module.command.parameters if item not in arguments]),
    ):
        yield from _entries(title, {_label(item): _meaning(item) for item in items})
    yield from (".SH SEE ALSO", ".BR netcalc (1)")


def _head(name: str, about: str) -> Iterator[str]:
    yield f'.TH {_quoted(name.upper())} 1 "" "netcalc {__version__}" "User Commands"'
    yield from (".SH NAME", rf"{_text(name)} \- {_text(about.rstrip('.'))}", ".SH SYNOPSIS")


def _entries(title: str, entries: Mapping[str, str]) -> Iterator[str]:
    if entries:
        yield f".SH {_quoted(title)}"
    for label, meaning in entries.items():
        yield from (".TP", f".B {_quoted(label)}", _text(meaning))


def _label(declared: Declared) -> str:
    settings = declared.declaration.settings
    metavar = settings.get("metavar") or "|".join(settings.get("choices", ()))
    if isinstance(declared.declaration, Argument):
        return metavar or declared.name.upper()
    names = ", ".join(declared.declaration.names) or f"--{declared.name.replace('_', '-')}"
    return f"{names} {metavar}".rstrip()


def _meaning(declared: Declared) -> str:
    settings = declared.declaration.settings
    default = settings.get("show_default") or declared.default
    shown = default not in (None, False, "", (), Parameter.empty)
    return f"{settings['help']} Default: {default}." if shown else settings["help"]


def _text(text: str) -> str:
    r"""Return text in which groff reads no request: ``-`` is ``\-``, and a period or an apostrophe begins no line."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("^", r"\(ha").replace("~", r"\(ti")
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _quoted(text: str) -> str:
    quotes = _text(text).replace('"', r"\(dq")
    return f'"{quotes}"'
