"""Command lines that are read without typer, whose import takes longer than most commands.

Only what is plainly right is read here.  For all else, such as ``--help``, a misspelt option or a value that is no
number, the answer is None, and typer reads the same declarations and reports what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import Parameter
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from netcalc.cli.declarations import Argument, Declared

_WHOLE = re.compile(r"[0-9]{1,15}")
#: Hints for options of which another command takes several.
_COMPARED = {"convention": "`netcalc compare MODEL` takes several conventions, and shows them side by side"}
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?(e-?[0-9]{1,2})?")


def plain_arguments(declared: Sequence[Declared], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a command's parameters by name; None if typer has to read the words."""
    by_name = {name: parameter for parameter in declared for name in parameter.declaration.names}
    texts: dict[str, list[str]] = {}
    positional: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        name, equals, text = word.partition("=")
        option = by_name.get(name)
        if option is None or (equals and (option.type is bool or not name.startswith("--"))):
            return None
        if option.type is bool:
            text = "yes"
        elif not equals:
            text = next(rest, "")
        if not text or (text.startswith("-") and text != "-"):
            return None
        texts.setdefault(option.name, []).append(text)
    if not _fill_places([entry for entry in declared if isinstance(entry.declaration, Argument)], positional, texts):
        return None
    values = {entry.name: _value(entry, texts.get(entry.name)) for entry in declared}
    return None if any(value is _Unread for value in values.values()) else values


def require_once(declared: Sequence[Declared], words: Sequence[str]) -> None:
    """Check that options of one value are given once; typer would silently take the last.

    Raises:
        NetcalcError: E502 with every option that has several values.
    """
    by_name = {name: parameter for parameter in declared for name in parameter.declaration.names}
    texts: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            break
        name, equals, text = word.partition("=")
        if name not in by_name and not word.startswith("--"):
            name, equals, text = word[:2], word[2:], word[2:]  # -cNAME
        option = by_name.get(name)
        if option is not None and option.type is not bool and _members(option.type) is None:
            texts.setdefault(option.name, []).append(f"{name} {text if equals else next(rest, '')}")
    several = [(name, given) for name, given in texts.items() if len(given) > 1]
    if several:
        from netcalc.diagnostics import Diagnostic, NetcalcError

        raise NetcalcError(
            Diagnostic("E502", f"{' and '.join(given)}: give one of them", hint=_COMPARED.get(name))
            for name, given in several
        )


class _Unread:
    """Stands for a value that typer has to read."""


def _fill_places(arguments: Sequence[Declared], positional: list[str], texts: dict[str, list[str]]) -> bool:
    """Give the arguments by position their texts, the last one all that are left if it is a list; False if some do."""
    if "" in positional:
        return False
    for number, argument in enumerate(arguments):
        if _members(argument.type) is not None:
            if number < len(arguments) - 1:
                return False
            taken, positional = positional, []
        else:
            taken, positional = positional[:1], positional[1:]
        if taken:
            texts[argument.name] = taken
    return not positional


def _value(parameter: Declared, texts: list[str] | None) -> Any:
    """Return the value of a parameter, _Unread if it is missing or not plain."""
    if texts is None:
        return _Unread if parameter.default is Parameter.empty else parameter.default
    members = _members(parameter.type)
    if members is not None:
        values = [_converted(members, text, parameter) for text in texts]
        return _Unread if _Unread in values else values
    return _converted(_required(parameter.type), texts[0], parameter) if len(texts) == 1 else _Unread


def _converted(type_: Any, text: str, parameter: Declared) -> Any:
    settings = parameter.declaration.settings
    if type_ is str:
        return text if text in settings.get("choices", (text,)) else _Unread
    if type_ is bool:
        return True
    if type_ is int and _WHOLE.fullmatch(text):
        number = int(text)
        return number if settings.get("min", number) <= number <= settings.get("max", number) else _Unread
    if type_ is float and _NUMBER.fullmatch(text) and not {"min", "max"} & settings.keys():
        return float(text)
    return _Unread


def _required(type_: Any) -> Any:
    """Return the type of a value that is given: ``int`` for ``int | None``."""
    if isinstance(type_, UnionType):
        members = [member for member in get_args(type_) if member is not NoneType]
        return members[0] if len(members) == 1 else None
    return type_


def _members(type_: Any) -> Any:
    """Return the type of the items of a list, None for other types."""
    type_ = _required(type_)
    return get_args(type_)[0] if get_origin(type_) is list else None
