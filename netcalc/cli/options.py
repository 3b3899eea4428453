"""Options of the command line alone, and the values that words of options stand for."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Annotated, Any, TypedDict

from netcalc.arguments import COUNT, FLAG, NAME, NAMES, PATH, PATTERNS, SETTINGS, Option, choice
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
        help="A spec file, a shipped name or alias (see `netcalc specs`), a config.json or its folder, hf:org/name, "
        "or - .",
    ),
)


class ModeOptions(TypedDict, total=False):
    """Another name of a mode."""

    train: Annotated[bool, Option(FLAG, False, "The same as --mode train, which is not a step of training.")]


class RunOptions(TypedDict, total=False):
    """Options of ``run``."""

    backward: Annotated[bool, Option(FLAG, False, "Run backward too; report the gradients of the loss by layer.")]
    output: Annotated[
        str | None,
        Option(PATH, None, "Write outputs, traced tensors, updated buffers.", ("--output", "-o"), metavar="FILE"),
    ]


class VerifyOptions(TypedDict, total=False):
    """Options of ``verify``."""

    execute: Annotated[bool, Option(FLAG, False, "Run the network too, where weights are checked.")]


class SignalOptions(TypedDict, total=False):
    """Options of ``signal``."""

    compare_init: Annotated[
        list[str], Option(NAMES, (), "Compare initializers; repeatable.", metavar="[PATTERN=]INITIALIZER")
    ]
    plot: Annotated[str | None, Option(PATH, None, "Write charts as .svg or .png, replacing the file.", metavar="FILE")]
    charts: Annotated[bool, Option(FLAG, False, "Print charts by depth below the table.")]


class TrainOptions(TypedDict, total=False):
    """Options of ``train``."""

    steps: Annotated[int, Option(COUNT, 20, "Number of the last step.", metavar="N")]
    batch: Annotated[int | None, Option(COUNT, None, "Samples of a step: --set batch=N.", metavar="N")]
    plot: Annotated[
        str | None, Option(PATH, None, "Draw the loss curve as .svg or .png.", metavar="FILE", panel="Files")
    ]
    output: Annotated[
        str | None,
        Option(PATH, None, "Write the parameters and buffers.", ("--output", "-o"), metavar="FILE", panel="Files"),
    ]


class MemoryOptions(TypedDict, total=False):
    """Options of ``memory``."""

    output: Annotated[
        str | None,
        Option(PATH.or_none(), None, "Write to a file; as .svg or .png the chart.", ("--output", "-o"), "FILE"),
    ]


class ComparisonOptions(TypedDict, total=False):
    """Options of ``compare``."""

    set: Annotated[
        list[str] | None,
        Option(
            SETTINGS.or_none(),
            None,
            "Change a dim or var, or that of spec N; repeatable.",
            ("--set", "-s"),
            "[N:]NAME=VALUE",
        ),
    ]


class FormatOptions(TypedDict, total=False):
    """Format of a result."""

    format: Annotated[
        str, Option(choice("table", "json", "csv", "markdown"), "table", "Output format.", ("--format", "-f"))
    ]


class TextFormatOptions(TypedDict, total=False):
    """Format of a result whose table was once called text."""

    format: Annotated[
        str,
        Option(
            choice("table", "text", "json", "csv", "markdown"),
            "table",
            "Output format; text is another name of table.",
            ("--format", "-f"),
        ),
    ]


class WideOptions(TypedDict, total=False):
    """Width of tables."""

    wide: Annotated[bool, Option(FLAG, False, "Show all columns in full, however narrow the terminal is.")]


class OutputOptions(WideOptions, total=False):
    """Place of a result."""

    output: Annotated[
        str | None,
        Option(PATH, None, "Write to a file, replacing it as a whole.", ("--output", "-o"), "FILE"),
    ]


#: Groups of options of commands that report rows on a model, and of those whose format may be called text.
ROW_OPTIONS = (SelectOptions, FormatOptions, OutputOptions, ModelOptions, ModeOptions)
TEXT_ROW_OPTIONS = (SelectOptions, TextFormatOptions, OutputOptions, ModelOptions, ModeOptions)


class LayoutOptions(TypedDict, total=False):
    """Order of axes."""

    layout: Annotated[
        str, Option(choice("nchw", "hwc"), "nchw", "hwc prints images as height×width×channels, without a batch of 1.")
    ]


class StoredOptions(TypedDict, total=False):
    """Weights as they are stored."""

    stored: Annotated[bool, Option(FLAG, False, "The tensors of the model's own weights, as they are stored.")]


class ForceOptions(TypedDict, total=False):
    """Files that exist."""

    force: Annotated[bool, Option(FLAG, False, "Replace an existing file.")]


class SpecListOptions(TypedDict, total=False):
    """Choice among the shipped specs."""

    search: Annotated[
        str | None,
        Option(NAME, None, "Only specs that mention the word, also if it is a name.", metavar="WORD"),
    ]
    family: Annotated[str | None, Option(NAME, None, "Only specs of the family, such as resnet.", metavar="FAMILY")]
    yaml: Annotated[bool, Option(FLAG, False, "Print the file of the spec NAME.")]


class SearchOptions(TypedDict, total=False):
    """Choice among the operations."""

    search: Annotated[
        str | None, Option(NAME, None, "Only operations and blocks that mention the word.", metavar="WORD")
    ]


class ModuleOptions(TypedDict, total=False):
    """Import of a PyTorch module."""

    example: Annotated[
        list[str],
        Option(PATTERNS, (), "An argument of a PyTorch module; repeatable.", ("--example", "-e"), "NAME=TYPE:SIZES"),
    ]
    verify: Annotated[bool, Option(FLAG, False, "Compare outputs, FLOPs and parameters with the PyTorch module's.")]
    allow_unknown: Annotated[
        bool, Option(FLAG, False, "Lines of unknown work for operators of PyTorch without a rule.")
    ]


class InputOptions(TypedDict, total=False):
    """Inputs of a run."""

    inputs: Annotated[
        list[str], Option(PATTERNS, (), "An input from .npy, .npz or .safetensors.", ("--input", "-i"), "NAME=FILE")
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
            hint = "for example --input image=photo.npy"
            raise NetcalcError(Diagnostic("E502", f"--input {text}: should be name=file", hint=hint))
        return name, file

    return pairs_of(words, pair)


def _numbers(words: Iterable[str]) -> dict[str, float]:
    def pair(text: str) -> tuple[str, float]:
        name, _, value = text.partition("=")
        try:
            return name.strip(), float(value)
        except ValueError:
            hint = "for example --hyper weight_decay=0.1"
            raise NetcalcError(Diagnostic("E502", f"--hyper {text}: should be name=number", hint=hint)) from None

    return pairs_of(words, pair)


_READERS: Mapping[str, Callable[[Any], Any]] = {"inputs": _inputs, "settings": _numbers}
