"""Tools of the server: a verb each, with the JSON Schemas of its arguments and of its records.

The arguments are the options that the command declares; those that only concern files that are written, tables and
limits are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from inspect import Parameter
from typing import Any, NamedTuple

from netcalc.arguments import NAME, NAMES, Option, checked_argument, options_of
from netcalc.cli.commands import COMMANDS, command_module
from netcalc.cli.declarations import Declared
from netcalc.cli.options import (
    ChartOptions,
    ColumnOptions,
    FormatOptions,
    LayoutOptions,
    ModeOptions,
    OutputOptions,
    TextFormatOptions,
)
from netcalc.cli.schema import schema_file
from netcalc.cli.verb import Verb
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

#: The records that the tool of each verb returns.
RECORDS: Mapping[str, tuple[str, ...]] = {
    "summary": ("summary", "pipeline"),
    "shapes": ("shapes",),
    "params": ("params", "checkpoint"),
    "flops": ("flops",),
    "explain": ("explain",),
    "memory": ("memory", "memory-table"),
    "fit": ("fit",),
    "solve": ("solution", "compute-optimal"),
    "sweep": ("sweep",),
    "scaling": ("scaling",),
    "compare": ("compare",),
    "specs": ("specs", "spec-page"),
    "ops": ("ops", "operation", "block"),
}
#: Groups of options of the command line's own output, and of a mode that has another name.
_OF_OUTPUT = (FormatOptions, TextFormatOptions, OutputOptions, ChartOptions, ColumnOptions, LayoutOptions, ModeOptions)
#: Options that no tool has: those, of files, those that raise limits, those that a library's own code reads, and those
#: of other processes.
_LEFT_OUT = frozenset(name for group in _OF_OUTPUT for name in options_of(group)).union(
    ("yaml", "max_spec_size", "max_work", "via", "timeout", "example", "resume", "workers", "on")
)
#: JSON types of the types of words.
_TYPES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
#: An option in a text, a file that the command line writes, and the ends of clauses.
_OPTION, _FILE, _CLAUSES = (
    re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*"),
    re.compile(r"(?<!\S)-o "),
    re.compile(r"(?<=[.;?])\s+"),
)
_MODEL = (
    "A shipped name or alias (the tool specs lists them), a file or folder below the server's folder, or the text of a "
    "spec itself or of a config.json, in several lines."
)


class Tool(NamedTuple):
    """A tool, named as its verb.

    Attributes:
        name: name of the verb.
        title: a sentence.
        description: what the help page of the command says.
        inputs: JSON Schema of the arguments.
        outputs: JSON Schema of the record that a call returns.
    """

    name: str
    title: str
    description: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


def tools() -> list[Tool]:
    """Return all tools."""
    return [_tool(name) for name in RECORDS]


def command_of(name: str) -> Verb:
    """Return the command behind a tool."""
    command: Verb = command_module(name).command
    return command


def checked_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters of a command for the arguments of a call; null stands for no argument.

    Raises:
        NetcalcError: E502 with every argument that is missing, unknown or of another kind.
    """
    command, problems = command_of(name), []
    offered = {declared.name: declared for declared in _offered(command)}
    values = {
        declared.name: None if declared.default is Parameter.empty else declared.default
        for declared in command.parameters
    }
    given = {key: value for key, value in arguments.items() if value is not None}
    for key, value in given.items():
        if key not in offered:
            hint = did_you_mean(key, offered) or f"arguments are {', '.join(offered)}"
            problems.append(Diagnostic("E502", f"{name} has no argument {key!r}", hint=hint))
            continue
        try:
            values[key] = _checked(offered[key], command.options.get(key), value)
        except NetcalcError as error:
            problems += error.diagnostics
    for declared in offered.values():
        if declared.default is Parameter.empty and declared.name not in given:
            problems.append(Diagnostic("E502", f"{name} needs the argument {declared.name!r}"))
    if problems:
        raise NetcalcError(problems)
    return values


def _offered(command: Verb) -> list[Declared]:
    """Return the parameters of a command that its tool has."""
    return [declared for declared in command.parameters if declared.name not in _LEFT_OUT]


def _checked(declared: Declared, option: Option | None, value: Any) -> Any:
    kind = option.kind if option is not None else NAMES if _is_list(declared) else NAME
    value = checked_argument(declared.name, value, kind)
    if kind.choices and value not in kind.choices:
        hint = did_you_mean(str(value), kind.choices) or f"one of {', '.join(kind.choices)}"
        raise NetcalcError(Diagnostic("E502", f"{declared.name} cannot be {value!r}", hint=hint))
    return value


def _is_list(declared: Declared) -> bool:
    return bool(declared.type == list[str])


@cache
def _tool(name: str) -> Tool:
    command, page = command_of(name), sys.modules[command_module(name).__name__].__doc__ or ""
    offered, names = _offered(command), _names(command)
    properties = {each.name: _property(each, command.options.get(each.name), names) for each in offered}
    required = [declared.name for declared in offered if declared.default is Parameter.empty]
    inputs = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    title = _of_tool(COMMANDS[name], names)
    description = "\n\n".join([title, *filter(None, (_of_tool(part, names) for part in page.split("\n\n")))])
    return Tool(name, title, description, inputs, _outputs(name))


def _names(command: Verb) -> dict[str, str]:
    """Return the arguments of a tool by the names of options on the command line."""
    return {flag: each.name for each in _offered(command) for flag in each.declaration.names if flag.startswith("--")}


def _of_tool(text: str, names: Mapping[str, str]) -> str:
    """Return a paragraph of a help page with the names of arguments, without clauses on options that no tool has."""
    clauses = _CLAUSES.split(" ".join(text.split()))
    kept = [clause for clause in clauses if not _FILE.search(clause) and names.keys() >= {*_OPTION.findall(clause)}]
    joined = _renamed(" ".join(kept), names)
    return joined if joined.endswith(("?", ".")) or not joined else joined.rstrip(";,") + "."


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _OPTION.sub(lambda match: f"`{names.get(match[0], match[0][2:].replace('-', '_'))}`", text)


def _property(declared: Declared, option: Option | None, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of an argument."""
    if option is None:
        about = _MODEL if declared.name in ("model", "models") else declared.declaration.settings.get("help", "")
        words: dict[str, Any] = {"type": "string"}
        listed: dict[str, Any] = {"type": "array", "items": words, "minItems": 1}
        return (listed if _is_list(declared) else words) | {"description": about}
    schema = _value(option)
    written = f" As {option.metavar}." if option.metavar and option.kind.word is str and not option.kind.choices else ""
    schema["description"] = _renamed(option.help, names) + written
    if isinstance(option.default, (str, int)) and option.default is not False:
        schema["default"] = option.default
    elif option.shown_default:
        schema["description"] += f" Default: {_renamed(option.shown_default, names)}."
    return schema


def _value(option: Option) -> dict[str, Any]:
    """Return the schema of the values of an option."""
    kind = option.kind
    schema: dict[str, Any] = {"type": _TYPES[kind.word]}
    if kind.least is not None:
        schema["minimum"] = kind.least
    if kind.choices:
        schema["enum"] = list(kind.choices)
    if kind.many:
        schema = {"type": "array", "items": schema}
    return {"anyOf": [schema, *({"type": other} for other in kind.others)]} if kind.others else schema


def _outputs(name: str) -> dict[str, Any]:
    """Return the schema of the records of a tool: an object, which is one of them where there are several."""
    definitions: dict[str, Any] = {}
    records = [_named_apart(record, definitions) for record in RECORDS[name]]
    joined = records[0] if len(records) == 1 else {"type": "object", "oneOf": records}
    return {**joined, "$defs": definitions} if definitions else joined


def _named_apart(record: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a record whose definitions are added to others, under names of their own."""
    text = schema_file(record).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text.replace('"#/$defs/', f'"#/$defs/{record}.'))
    schema.pop("$schema")
    definitions |= {f"{record}.{key}": value for key, value in schema.pop("$defs", {}).items()}
    return schema
