"""Options shared by the commands, and the values read from them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from netcalc.cli.declarations import Argument, Option
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.cli.selection import Selection
    from netcalc.ir import Program
    from netcalc.weights.tensor_files import Tensors


class Format(StrEnum):
    """Format of a report."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class TextFormat(StrEnum):
    """Format of a result whose table was once called text."""

    TABLE = "table"
    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class Mode(StrEnum):
    """Mode of the operations that differ in training, such as dropout."""

    EVAL = "eval"
    TRAIN = "train"


class FloatType(StrEnum):
    """Floating-point type of a network."""

    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"


class Layout(StrEnum):
    """Order of the axes of an image."""

    NCHW = "nchw"
    HWC = "hwc"


Spec: TypeAlias = Annotated[
    str,
    Argument(
        help="A spec file, a shipped name or alias (see `netcalc specs`), a config.json or its folder, hf:org/name, "
        "or - ."
    ),
]
MaxSpecSize: TypeAlias = Annotated[
    int, Option("--max-spec-size", metavar="BYTES", min=1, help="Largest spec file that is read.")
]
Set: TypeAlias = Annotated[
    list[str] | None, Option("--set", "-s", metavar="NAME=VALUE", help="Change a dim or var; repeatable.")
]
Symbolic: TypeAlias = Annotated[
    list[str] | None, Option("--symbolic", metavar="DIM", help="Keep a dim as a symbol; repeatable.")
]
Train: TypeAlias = Annotated[bool, Option("--train", help="The same as --mode train, which is not a step of training.")]
ModeChoice: TypeAlias = Annotated[
    Mode | None,
    Option(
        "--mode",
        help="Mode of the operations. train: batch statistics and dropout; weights stay as they are.",
        show_default="eval",
    ),
]
Backward: TypeAlias = Annotated[bool, Option("--backward", help="Count a backward pass too.")]
BackwardLoss: TypeAlias = Annotated[
    str | None,
    Option(
        "--loss",
        metavar="OUTPUT",
        help="Start the backward pass from the loss of the spec (loss), all outputs (sum), or an output.",
        show_default="sum; loss for --training",
    ),
]
Training: TypeAlias = Annotated[
    str | None,
    Option(
        "--training",
        metavar="OPTIMIZER",
        help="Count a step of training: forward, backward, update by sgd, momentum, nesterov, adam or adamw.",
    ),
]
Dtype: TypeAlias = Annotated[
    FloatType | None,
    Option("--dtype", help="Type of floating-point inputs and parameters.", show_default="the spec's"),
]
Lora: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--lora",
        metavar="[PATTERN=]RANK",
        help="Low-rank adapters beside linear layers, all other parameters frozen; repeatable, the first match counts.",
    ),
]
Quantize: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--quantize",
        metavar="[PATTERN=]SCHEME",
        help="Store parameters as int8, '*.mlp.*=int4-g128', nf4-dq, q4_k_m …; the first match counts; repeatable.",
    ),
]
Prune: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--prune",
        metavar="[PATTERN=]SHARE",
        help="Store parameters without a share of their elements: 0.5, 0.5-csr or 2:4; repeatable.",
    ),
]
Unroll: TypeAlias = Annotated[bool, Option("--unroll", help="A row for every instance of a repeated block.")]
Stored: TypeAlias = Annotated[
    bool, Option("--stored", help="The tensors of the model's own weights, as they are stored.")
]
Depth: TypeAlias = Annotated[
    int | None, Option("--depth", metavar="N", min=1, help="Sum up layers deeper than N parts of a path.")
]
LayoutChoice: TypeAlias = Annotated[
    Layout,
    Option("--layout", help="hwc prints images as height×width×channels, without a batch of 1."),
]
Convention: TypeAlias = Annotated[
    str,
    Option("--convention", "-c", metavar="NAME", help="Counting: netcalc, torch, torchvision or fvcore."),
]
ReceptiveField: TypeAlias = Annotated[
    bool,
    Option("--receptive-field", help="Receptive field, effective stride and offset of every layer, unrolled."),
]
ReceptiveFieldCheck: TypeAlias = Annotated[
    bool, Option("--receptive-field", help="Also check receptive fields, by propagating NaNs in further passes.")
]
Values: TypeAlias = Annotated[
    bool, Option("--values", help="Also compare each operation with an independent definition of its values.")
]
VerifyBackward: TypeAlias = Annotated[
    bool,
    Option("--backward", help="Also run backward; check the work of every product and what is saved for it."),
]
Sort: TypeAlias = Annotated[
    str | None, Option("--sort", metavar="FIGURE", help="Sort rows by a column, the largest first.")
]
Top: TypeAlias = Annotated[
    int | None, Option("--top", metavar="N", min=1, help="Show the first N rows only, after sorting.")
]
Filter: TypeAlias = Annotated[
    list[str] | None,
    Option("--filter", metavar="PATTERN", help="Show rows whose name matches, as in 'layer1.*'; repeatable."),
]
Wide: TypeAlias = Annotated[bool, Option("--wide", help="Show all columns in full, however narrow the terminal is.")]
FormatChoice: TypeAlias = Annotated[Format, Option("--format", "-f", help="Output format.")]
TextFormatChoice: TypeAlias = Annotated[
    TextFormat, Option("--format", "-f", help="Output format; text is another name of table.")
]
Output: TypeAlias = Annotated[
    str | None, Option("--output", "-o", metavar="FILE", help="Write to a file, replacing it as a whole.")
]

Weights: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--weights",
        "-w",
        metavar="PATH",
        help="A checkpoint: .safetensors, .npz, index.json, folder, hf:org/name, or . for that of the model; "
        "repeatable.",
    ),
]
Execute: TypeAlias = Annotated[bool, Option("--execute", help="Run the network too, where weights are checked.")]
Cast: TypeAlias = Annotated[
    bool, Option("--cast", help="Convert weights of another floating-point type to that of the spec.")
]
MaxWork: TypeAlias = Annotated[
    float | None,
    Option("--max-work", metavar="N", help="Most FLOPs, and elements of results, before it is refused."),
]
Seed: TypeAlias = Annotated[int, Option("--seed", metavar="N", min=0, help="Seed of all random numbers.")]


def is_training(mode: Mode | None, train: bool, optimizer: str | None = None) -> bool:
    """Return True for training mode, which a step of training has unless ``--mode`` gives another.

    Raises:
        NetcalcError: E502 if ``--mode`` and ``--train`` contradict each other.
    """
    if train and mode is Mode.EVAL:
        from netcalc.diagnostics import Diagnostic, NetcalcError

        raise NetcalcError(Diagnostic("E502", "--mode eval and --train contradict each other"))
    return train or mode is Mode.TRAIN or (mode is None and optimizer is not None)


def read_selection(sort: str | None, top: int | None, filter_: list[str] | None) -> Selection:
    """Return the selection of rows that the options ask for."""
    from netcalc.cli.selection import Selection

    return Selection(sort, top, tuple(filter_ or ()))


def read_program(
    spec: str,
    settings: list[str] | None,
    symbolic: list[str] | None = None,
    training: bool = False,
    dtype: FloatType | None = None,
    max_spec_size: int = MAX_SPEC_SIZE,
    lora: list[str] | None = None,
    quantize: list[str] | None = None,
    prune: list[str] | None = None,
    *,
    decoding: bool = False,
) -> Program:
    """Return the program of a spec with the settings of the command line; with ``decoding`` it has its caches."""
    from netcalc.formats import load_model
    from netcalc.spec import elaborate

    values = read_settings(settings)
    loaded = load_model(spec, max_spec_size)
    if lora:
        from netcalc.analysis.adapters import with_adapters

        loaded = with_adapters(loaded, lora, values)
    if decoding and "use_cache" in loaded.document.vars:
        values.setdefault("use_cache", True)
    program = elaborate(loaded, values, symbolic=symbolic or (), training=training, dtype=dtype)
    if program.warnings:
        from netcalc.cli.output import print_warnings

        print_warnings(program.warnings)
    return store(program, quantize, prune)


def store(program: Program, quantize: list[str] | None, prune: list[str] | None) -> Program:
    """Return the program with its parameters stored as ``--quantize``, ``--prune`` and its checkpoint say."""
    if not quantize and not prune and not program.assigned:
        return program
    from netcalc.analysis.precision import stored

    return stored(program, quantize or (), prune or ())


def read_weights(weights: list[str] | None, model: str, *, own: bool = False) -> list[str | Tensors]:
    """Return the paths of ``--weights``, in which ``.`` stands for the weights of the model itself, if it has any.

    With ``own`` the weights of the model are also those that are used without the option.  The name of a model on the
    Hub, and a ``.gguf`` file, stand for their weights.
    """
    from netcalc.formats import HUB_PREFIX, is_gguf, own_weights

    found: list[str | Tensors] = []
    for path in weights or (["."] if own else []):
        of = model if path == "." else path if path.startswith(HUB_PREFIX) or is_gguf(path) else None
        theirs = own_weights(of) if of is not None else None
        if theirs is not None:
            found.append(str(theirs) if isinstance(theirs, Path) else theirs)
        elif weights:
            found.append(path)
    return found


def note_downloads(weights: Iterable[str | Tensors]) -> None:
    """Say on standard error how much of weights on the Hub a run downloads."""
    for given in weights:
        if isinstance(given, str):
            continue
        from netcalc.formats.hub.remote_tensors import pending_bytes
        from netcalc.render.numbers import bytes_text

        if pending := pending_bytes(given):
            text = f"{given.name}: {bytes_text(pending)} of weights are downloaded to the cache of the Hub"
            print(text, file=sys.stderr)


def read_settings(settings: list[str] | None) -> dict[str, object]:
    """Return the values of ``--set`` by name; NetcalcError with every malformed one."""
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.spec.settings import parse_assignment

    values: dict[str, object] = {}
    problems: list[Diagnostic] = []
    for text in settings or ():
        try:
            name, value = parse_assignment(text)
        except NetcalcError as error:
            problems += error.diagnostics
        else:
            values[name] = value
    if problems:
        raise NetcalcError(problems)
    return values
