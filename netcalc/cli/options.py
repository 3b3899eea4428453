"""The options that commands share, and the program that they ask for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from netcalc.ir import Program


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class TextOrJson(StrEnum):
    """How other results are written."""

    TEXT = "text"
    JSON = "json"


class Layout(StrEnum):
    """How the shape of an image is read."""

    NCHW = "nchw"
    HWC = "hwc"


Spec: TypeAlias = Annotated[str, typer.Argument(help="A spec file, a shipped name (see `netcalc specs`), or - .")]
Set: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="Change a dim or var; repeatable.")
]
Symbolic: TypeAlias = Annotated[
    list[str] | None, typer.Option("--symbolic", metavar="DIM", help="Keep a dim as a symbol; repeatable.")
]
Train: TypeAlias = Annotated[bool, typer.Option("--train", help="Training mode instead of evaluation.")]
Unroll: TypeAlias = Annotated[bool, typer.Option("--unroll", help="Every instance of a repeated block on its own.")]
Depth: TypeAlias = Annotated[
    int | None, typer.Option("--depth", metavar="N", min=1, help="Sum up what lies deeper than N parts of a path.")
]
LayoutChoice: TypeAlias = Annotated[
    Layout,
    typer.Option("--layout", help="hwc prints images as height×width×channels, and leaves out a batch of one."),
]
Convention: TypeAlias = Annotated[
    str,
    typer.Option("--convention", "-c", metavar="NAME", help="Counting: netcalc, torch, torchvision or fvcore."),
]
FormatChoice: TypeAlias = Annotated[Format, typer.Option("--format", "-f", help="How the result is written.")]
TextChoice: TypeAlias = Annotated[TextOrJson, typer.Option("--format", "-f", help="How the result is written.")]
Output: TypeAlias = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file, which is replaced as a whole.")
]

Weights: TypeAlias = Annotated[
    str | None, typer.Option("--weights", "-w", metavar="FILE", help="A checkpoint: .safetensors or .npz.")
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of everything that is drawn.")]


def read_program(
    spec: str, settings: list[str] | None, symbolic: list[str] | None = None, train: bool = False
) -> Program:
    """The program of a spec at the settings of the command line."""
    from netcalc.spec import elaborate, load_document

    given = read_settings(settings)
    return elaborate(load_document(spec), given, symbolic=symbolic or (), training=train)


def read_settings(settings: list[str] | None) -> dict[str, object]:
    """The values of ``--set`` by name; NetcalcError with every one that is none."""
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.spec.settings import parse_assignment

    given: dict[str, object] = {}
    problems: list[Diagnostic] = []
    for text in settings or ():
        try:
            name, value = parse_assignment(text)
        except NetcalcError as error:
            problems += error.diagnostics
        else:
            given[name] = value
    if problems:
        raise NetcalcError(problems)
    return given
