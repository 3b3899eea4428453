"""Options of single commands, on the command line alone."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated, TypedDict, get_args

from netcalc.arguments import COUNT, FLAG, NAME, NAMES, PATH, PATTERNS, SETTINGS, Option, choice
from netcalc.limits import CALL_SECONDS, MAX_RECORD
from netcalc.options import FLOAT_TYPE, Mode, ReferenceName


class RunOptions(TypedDict, total=False):
    """Options of ``run``."""

    backward: Annotated[bool, Option(FLAG, False, "Run backward too; report the gradients of the loss by layer.")]
    plot: Annotated[
        str | None,
        Option(PATH, None, "Draw traced tensors as heat maps, or histograms, as .svg or .png.", metavar="FILE"),
    ]
    charts: Annotated[bool, Option(FLAG, False, "Print heat maps of traced tensors, or histograms.")]
    output: Annotated[
        str | None,
        Option(
            PATH,
            None,
            "Write outputs, traced tensors and updated buffers, or as .json … the report.",
            ("--output", "-o"),
            metavar="FILE",
        ),
    ]


class VerifyOptions(TypedDict, total=False):
    """Options of ``verify``."""

    execute: Annotated[bool, Option(FLAG, False, "Run the network too, where weights are checked.")]
    reference: Annotated[
        str | None,
        Option(
            choice(*get_args(ReferenceName)),
            None,
            "onnx or onnxruntime: compare outputs with this library's.",
            metavar="LIBRARY",
        ),
    ]


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
        str | None, Option(PATH, None, "Draw the loss curves as .svg or .png.", metavar="FILE", panel="Files")
    ]
    output: Annotated[
        str | None,
        Option(
            PATH,
            None,
            "Write parameters and buffers, or as .json … the report.",
            ("--output", "-o"),
            metavar="FILE",
            panel="Files",
        ),
    ]


class SeveralOptions(TypedDict, total=False):
    """Settings of commands that take several models."""

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


class ForceOptions(TypedDict, total=False):
    """Files that exist."""

    force: Annotated[bool, Option(FLAG, False, "Replace an existing file.")]


class SpecsOptions(TypedDict, total=False):
    """Choice among the shipped specs."""

    search: Annotated[
        str | None,
        Option(NAME, None, "Only specs that mention the word, also if it is a name.", metavar="WORD"),
    ]
    yaml: Annotated[bool, Option(FLAG, False, "Print the file of the spec NAME.")]


class ModuleOptions(TypedDict, total=False):
    """Import of a PyTorch module."""

    mode: Annotated[
        Mode | None,
        Option(
            choice(*get_args(Mode)),
            None,
            "Mode in which a PyTorch module is captured, whatever its own is.",
            shown_default="eval",
        ),
    ]
    dtype: Annotated[
        str | None,
        Option(
            FLOAT_TYPE,
            None,
            "Type of floating-point parameters, buffers and inputs of a PyTorch module.",
            shown_default="the module's",
        ),
    ]
    verify: Annotated[bool, Option(FLAG, False, "Compare outputs, FLOPs and parameters with the PyTorch module's.")]
    allow_unknown: Annotated[
        bool, Option(FLAG, False, "Lines of unknown work for operators of PyTorch without a rule.")
    ]
    drop_dead_code: Annotated[
        bool, Option(FLAG, False, "Leave out what a PyTorch module computes and no output needs.")
    ]


class InputOptions(TypedDict, total=False):
    """Inputs of a run."""

    inputs: Annotated[
        list[str],
        Option(
            PATTERNS,
            (),
            "An input in numbers, as in x=[[1,2],[3,4]], or from .npy, .npz, .safetensors, .csv or .txt; repeatable.",
            ("--input", "-i"),
            "NAME=VALUES|FILE",
        ),
    ]


class McpOptions(TypedDict, total=False):
    """Options of ``mcp``."""

    folder: Annotated[
        str | None,
        Option(PATH, None, "Folder whose files may be read.", metavar="FOLDER", shown_default="the current one"),
    ]
    network: Annotated[bool, Option(FLAG, False, "Permit models on the Hub, hf:org/name, which are downloaded.")]
    timeout: Annotated[int, Option(COUNT, CALL_SECONDS, "Time that a call may take.", metavar="SECONDS")]
    max_record: Annotated[
        int, Option(COUNT, MAX_RECORD, "Longest record; an assistant has to read all of it.", metavar="CHARACTERS")
    ]


class LspOptions(TypedDict, total=False):
    """Options of ``lsp``."""

    stdio: Annotated[bool, Option(FLAG, False, "The way to the editor: standard input and output, the only one.")]


class StoredOptions(TypedDict, total=False):
    """Weights as they are stored."""

    stored: Annotated[bool, Option(FLAG, False, "The tensors of the model's own weights, as they are stored.")]
