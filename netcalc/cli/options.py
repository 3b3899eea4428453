"""Options of the command line alone, and the values that words of options stand for."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Annotated, Any, TypedDict

from netcalc.arguments import FLAG, NAME, PATH, Option, choice
from netcalc.cli.declarations import Argument, Declared
from netcalc.diagnostics import Diagnostic, NetcalcError, pairs_of
from netcalc.options import ModelOptions, SelectOptions

#: The model of a command.
MODEL = Declared(
    "model",
    str,
    Parameter.empty,
    Argument(
        metavar="MODEL",
        help="A spec file, a shipped name or alias (see `netcalc specs`), a config.json or its folder, a .gguf, .onnx "
        "or .keras file, hf:org/name, or - .",
    ),
)

#: The models of a command that takes several.
MODELS = Declared(
    "models",
    list[str],
    Parameter.empty,
    Argument(metavar="MODEL [MODEL]...", help="Files, shipped names, models, or - for one of them."),
)


class ModeOptions(TypedDict, total=False):
    """Another name of a mode."""

    train: Annotated[bool, Option(FLAG, False, "The same as --mode train, which is not a step of training.")]


def _format(*names: str, about: str = "Output format.") -> Option:
    return Option(choice(*names), None, about, ("--format", "-f"), shown_default=names[0])


class FormatOptions(TypedDict, total=False):
    """Format of a result."""

    format: Annotated[
        str | None,
        _format("table", "json", "csv", "markdown"),
    ]


class GraphFormatOptions(TypedDict, total=False):
    """Format of a graph."""

    format: Annotated[
        str | None,
        _format("mermaid", "json", "csv", "markdown"),
    ]


class TextFormatOptions(TypedDict, total=False):
    """Format of a result whose table was once called text."""

    format: Annotated[
        str | None,
        _format("table", "text", "json", "csv", "markdown", about="Output format; text is another name of table."),
    ]


class CheckFormatOptions(TypedDict, total=False):
    """Format of findings."""

    format: Annotated[
        str | None,
        _format(
            "table",
            "json",
            "csv",
            "markdown",
            "github",
            "sarif",
            about="Output format; github: annotations of GitHub Actions; sarif: SARIF 2.1.0.",
        ),
    ]


class WideOptions(TypedDict, total=False):
    """Width of tables."""

    wide: Annotated[
        bool, Option(FLAG, False, "Show all rows, columns, digits and formulas, however narrow the terminal is.")
    ]


class OutputOptions(WideOptions, total=False):
    """Place of a result."""

    output: Annotated[
        str | None,
        Option(PATH, None, "Write to a file; its suffix chooses the format.", ("--output", "-o"), "FILE"),
    ]


#: Groups of options of commands that report rows on a model, and of those whose format may be called text.
ROW_OPTIONS = (SelectOptions, FormatOptions, OutputOptions, ModelOptions, ModeOptions)
TEXT_ROW_OPTIONS = (SelectOptions, TextFormatOptions, OutputOptions, ModelOptions, ModeOptions)


class ChartOptions(TypedDict, total=False):
    """Charts of commands that print none by themselves."""

    charts: Annotated[bool, Option(FLAG, False, "Print charts below the tables; -o FILE.svg or .png writes them.")]


class LayoutOptions(TypedDict, total=False):
    """Order of axes."""

    layout: Annotated[
        str, Option(choice("nchw", "hwc"), "nchw", "hwc prints images as height×width×channels, without a batch of 1.")
    ]


class ColumnOptions(TypedDict, total=False):
    """Columns of layers."""

    columns: Annotated[
        str | None,
        Option(
            NAME,
            None,
            "Columns of the table: op, inputs, outputs, figures such as params and macs, share, and attributes of "
            "operations such as kernel and stride.",
            metavar="NAME,…",
        ),
    ]


def value_of(name: str, words: Any) -> Any:
    """Return the value that the words of an option stand for.

    Raises:
        NetcalcError: E501 or E502 with every malformed assignment.
    """
    read = _READERS.get(name)
    return words if read is None else read(words)


def _inputs(words: Iterable[str]) -> dict[str, str]:
    def pair(text: str) -> tuple[str, str]:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            hint = "for example --input 'x=[1, 2, 3]' or --input image=photo.npy"
            raise NetcalcError(Diagnostic("E502", f"--input {text}: should be name=numbers or name=file", hint=hint))
        return name.strip(), file

    return pairs_of(words, pair, "--input")


def _numbers(words: Iterable[str]) -> dict[str, float]:
    def pair(text: str) -> tuple[str, float]:
        name, _, value = text.partition("=")
        try:
            return name.strip(), float(value)
        except ValueError:
            hint = "for example --hyper weight_decay=0.1"
            raise NetcalcError(Diagnostic("E502", f"--hyper {text}: should be name=number", hint=hint)) from None

    return pairs_of(words, pair, "--hyper")


def _rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        hint = "for example --lr 0.1, or --lr 0.1,1,10 to compare them"
        raise NetcalcError(Diagnostic("E502", f"--lr {text}: should be a number, or several", hint=hint)) from None


_READERS: Mapping[str, Callable[[Any], Any]] = {"inputs": _inputs, "settings": _numbers, "lr": _rates}
