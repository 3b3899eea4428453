"""Declarations of arguments and options, which commands read without typer, and typer where it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, NamedTuple, get_origin

__all__ = ["Argument", "Declared", "Option", "declared", "for_typer"]


class Argument:
    """An argument by position; ``settings`` are those of ``typer.Argument``."""

    names: tuple[str, ...] = ()

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


class Option:
    """An option by its names; ``settings`` are those of ``typer.Option``."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names = names
        self.settings = settings


class Declared(NamedTuple):
    """A parameter of a command: its type, default, and declaration."""

    name: str
    type: Any
    default: Any  # Parameter.empty if it is required
    declaration: Argument | Option


def declared(command: Callable[..., object]) -> list[Declared] | None:
    """Return the parameters of a command; None if one is not declared here, such as the context of typer."""
    found = []
    for name, parameter in signature(command, eval_str=True).parameters.items():
        annotation = parameter.annotation
        metadata: list[Any] = list(annotation.__metadata__) if get_origin(annotation) is Annotated else [None]
        if len(metadata) != 1 or not isinstance(metadata[0], Argument | Option):
            return None
        found.append(Declared(name, annotation.__origin__, parameter.default, metadata[0]))
    return found


def for_typer(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with declarations of typer."""
    known = signature(command, eval_str=True)

    @wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        return command(*args, **values)

    run.__dict__["__signature__"] = known.replace(parameters=list(_parameters_for_typer(known.parameters.values())))
    return run


def _parameters_for_typer(parameters: Iterable[Parameter]) -> Iterable[Parameter]:
    import typer

    for parameter in parameters:
        annotation = parameter.annotation
        own = annotation.__metadata__[0] if get_origin(annotation) is Annotated else None
        if isinstance(own, Argument | Option):
            make = typer.Argument if isinstance(own, Argument) else typer.Option
            parameter = parameter.replace(annotation=Annotated[annotation.__origin__, make(*own.names, **own.settings)])
        yield parameter
