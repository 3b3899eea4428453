"""Declarations of arguments and options, which commands read without typer, and typer where it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from inspect import Parameter, Signature
from typing import Annotated, Any, NamedTuple


class Argument:
    """An argument by position; ``settings`` are the arguments of ``typer.Argument``, and ``choices``."""

    names: tuple[str, ...] = ()

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


class Option:
    """An option by its names; ``settings`` are the arguments of ``typer.Option``, and ``choices``."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names = names
        self.settings = settings


class Declared(NamedTuple):
    """A parameter of a command: its type, default, and declaration."""

    name: str
    type: Any
    default: Any  # Parameter.empty if it is required
    declaration: Argument | Option


def for_typer(command: Callable[..., Any], declared: Iterable[Declared]) -> Callable[..., Any]:
    """Return the command with declarations of typer."""

    def run(**values: Any) -> Any:
        return command(**{name: str(value) if isinstance(value, StrEnum) else value for name, value in values.items()})

    run.__dict__["__signature__"] = Signature([_parameter(parameter) for parameter in declared])
    return run


def _parameter(declared: Declared) -> Parameter:
    """Return the parameter of a function that typer reads."""
    import typer

    settings, default = dict(declared.declaration.settings), declared.default
    type_: Any = declared.type
    if choices := settings.pop("choices", None):
        words: Any = StrEnum("words", {word: word for word in choices})  # type: ignore[misc]
        type_, default = (words | None, None) if default is None else (words, words(default))
    make = typer.Argument if isinstance(declared.declaration, Argument) else typer.Option
    annotation = Annotated[type_, make(*declared.declaration.names, **settings)]
    return Parameter(declared.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
