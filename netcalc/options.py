"""Options, each declared once: name, kind of values, default and help.

A verb takes groups of options, which are typed dictionaries.  The methods of :class:`~netcalc.network.Network` unpack
them into their signatures, check and complete them by :func:`~netcalc.arguments.accepts`; the command line reads the
same declarations.
"""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, get_args

from netcalc.arguments import (
    ADAPTERS,
    AMOUNT,
    ASSIGNMENTS,
    BUDGET,
    CONVENTION,
    COUNT,
    FLAG,
    FUNCTION,
    INITIALIZERS,
    LOSS,
    NAME,
    NAMES,
    NATURAL,
    NUMBERS,
    OPTIMIZER,
    PATH,
    PATTERNS,
    RATE,
    SAMPLES,
    SETTINGS,
    THREADS,
    WEIGHTS,
    Option,
    choice,
)
from netcalc.limits import MAX_SPEC_SIZE

#: Mode of the operations that differ in training, such as dropout.
Mode: TypeAlias = Literal["eval", "train"]
#: Execution of a run: by a plan, or operation by operation with the reference kernels.
PlanName: TypeAlias = Literal["fast", "reference"]
#: Learning rates after the warm-up.
ScheduleName: TypeAlias = Literal["constant", "cosine"]
#: Figures of a summary that are shown.
ReportName: TypeAlias = Literal["shapes", "params", "flops", "summary"]
#: Adapters as they are given: ``"[PATTERN=]RANK"``, several of these, a rank, or ranks or settings by pattern.
LoraArgument: TypeAlias = str | int | Iterable[str] | Mapping[str, Any]
#: Values of dims and vars by name, or texts ``NAME=VALUE``.
SettingsArgument: TypeAlias = Mapping[str, Any] | Iterable[str]


class SourceOptions(TypedDict, total=False):
    """Reading of a spec."""

    max_spec_size: Annotated[int, Option(COUNT, MAX_SPEC_SIZE, "Largest spec file that is read.", metavar="BYTES")]


class ImportOptions(SourceOptions, total=False):
    """Reading of a model with settings."""

    set: Annotated[
        SettingsArgument | None,
        Option(SETTINGS, None, "Change a dim or var; repeatable.", ("--set", "-s"), "NAME=VALUE"),
    ]


class VariantOptions(ImportOptions, total=False):
    """Changes of a model that several models can share."""

    mode: Annotated[
        Mode | None,
        Option(
            choice(*get_args(Mode)),
            None,
            "Mode of the operations. train: batch statistics and dropout; weights stay as they are.",
            shown_default="eval",
        ),
    ]
    dtype: Annotated[
        str | None,
        Option(
            choice("bfloat16", "float16", "float32", "float64"),
            None,
            "Type of floating-point inputs and parameters.",
            shown_default="the spec's",
        ),
    ]
    quantize: Annotated[
        str | Iterable[str],
        Option(
            ASSIGNMENTS,
            (),
            "Store parameters as int8, '*.mlp.*=int4-g128', nf4-dq, q4_k_m …; the first match counts; repeatable.",
            metavar="[PATTERN=]SCHEME",
        ),
    ]
    prune: Annotated[
        str | Iterable[str],
        Option(
            ASSIGNMENTS,
            (),
            "Store parameters without a share of their elements: 0.5, 0.5-csr or 2:4; repeatable.",
            metavar="[PATTERN=]SHARE",
        ),
    ]


class ModelOptions(VariantOptions, total=False):
    """Changes of a model, which every verb takes."""

    symbolic: Annotated[Sequence[str], Option(NAMES, (), "Keep a dim as a symbol; repeatable.", metavar="DIM")]
    lora: Annotated[
        LoraArgument | None,
        Option(
            ADAPTERS,
            None,
            "Low-rank adapters beside linear layers, all other parameters frozen; repeatable, the first match counts.",
            metavar="[PATTERN=]RANK",
        ),
    ]


class ConventionOptions(TypedDict, total=False):
    """Convention by which work is counted."""

    convention: Annotated[
        str,
        Option(
            CONVENTION, "netcalc", "Counting: netcalc, torch, torchvision or fvcore.", ("--convention", "-c"), "NAME"
        ),
    ]


class DescribeOptions(SourceOptions, ConventionOptions, total=False):
    """Options of the pages of specs."""


class BackwardOptions(TypedDict, total=False):
    """Passes whose work is counted."""

    backward: Annotated[bool, Option(FLAG, False, "Count a backward pass too.")]
    training: Annotated[
        str | None,
        Option(
            OPTIMIZER,
            None,
            "Count a step of training: forward, backward, update by sgd, momentum, nesterov, adam or adamw.",
            metavar="OPTIMIZER",
        ),
    ]
    loss: Annotated[
        str | None,
        Option(
            LOSS,
            None,
            "Start the backward pass from the loss of the spec (loss), all outputs (sum), or an output.",
            metavar="OUTPUT",
            shown_default="sum; loss for --training",
        ),
    ]


class CountOptions(ConventionOptions, BackwardOptions, total=False):
    """Work that is counted."""


class DepthOptions(TypedDict, total=False):
    """Depth of the rows."""

    depth: Annotated[int | None, Option(COUNT, None, "Sum up layers deeper than N parts of a path.", metavar="N")]


class SelectOptions(TypedDict, total=False):
    """Selection of rows."""

    sort: Annotated[str | None, Option(NAME, None, "Sort rows by a column, the largest first.", metavar="FIGURE")]
    top: Annotated[int | None, Option(COUNT, None, "Show the first N rows only, after sorting.", metavar="N")]
    filter: Annotated[
        Sequence[str],
        Option(PATTERNS, (), "Show rows whose name matches, as in 'layer1.*'; repeatable.", metavar="PATTERN"),
    ]


class UnrollOptions(TypedDict, total=False):
    """Rows of repeated blocks."""

    unroll: Annotated[bool, Option(FLAG, False, "A row for every instance of a repeated block.")]


class LayerOptions(DepthOptions, UnrollOptions, total=False):
    """Rows of layers."""


class ComparisonOptions(VariantOptions, ConventionOptions, DepthOptions, total=False):
    """Options of ``compare``."""

    all: Annotated[bool, Option(FLAG, False, "Also show what does not differ.", ("--all", "-a"))]


class ReceptiveFieldOptions(TypedDict, total=False):
    """Receptive fields."""

    receptive_field: Annotated[
        bool, Option(FLAG, False, "Receptive field, effective stride and offset of every layer, unrolled.")
    ]


class SummaryOptions(LayerOptions, BackwardOptions, ReceptiveFieldOptions, total=False):
    """Options of the verbs that count by layer."""


class ExplainOptions(CountOptions, total=False):
    """Options of ``explain``."""

    memory: Annotated[bool, Option(FLAG, False, "Explain the figures of `netcalc memory` in place of the counts.")]


class MemoryOptions(DepthOptions, total=False):
    """Options of ``memory``."""

    cache: Annotated[
        str | Iterable[str],
        Option(ASSIGNMENTS, (), "Memory of caches: ideal, vllm or llama.cpp.", metavar="NAME", shown_default="all"),
    ]
    cache_dtype: Annotated[
        str | None,
        Option(NAME, None, "Element type of caches, such as fp8 or q8_0.", metavar="TYPE", shown_default="their own"),
    ]
    tokens_in: Annotated[
        str | int | None,
        Option(BUDGET, None, "Tokens that fit with the weights, as in 16GiB or 24GB.", metavar="BYTES"),
    ]
    engine: Annotated[
        PlanName | None,
        Option(choice(*get_args(PlanName)), None, "Add the memory of NumPy's engine, with its default threads."),
    ]


class CastOptions(TypedDict, total=False):
    """Conversion of a checkpoint."""

    cast: Annotated[bool, Option(FLAG, False, "Convert weights of another floating-point type to the spec's.")]


class WeightsOptions(CastOptions, total=False):
    """A checkpoint."""

    weights: Annotated[
        Any,
        Option(
            WEIGHTS,
            None,
            "A checkpoint: .safetensors, .npz, index.json, folder, hf:org/name, or . for the model's own; repeatable.",
            ("--weights", "-w"),
            "PATH",
        ),
    ]


class DrawOptions(CastOptions, total=False):
    """Initial parameters."""

    init: Annotated[
        str | Iterable[str],
        Option(INITIALIZERS, "default", "Initializer of weights; repeatable.", metavar="[PATTERN=]INITIALIZER"),
    ]


class ParameterOptions(WeightsOptions, DrawOptions, total=False):
    """Origin of the parameters of a run."""


class SeedOptions(TypedDict, total=False):
    """Random numbers."""

    seed: Annotated[int, Option(NATURAL, 0, "Seed of all random numbers.", metavar="N")]


class WorkOptions(SeedOptions, total=False):
    """Random numbers and limits of everything that is executed."""

    max_work: Annotated[
        float | None, Option(AMOUNT, None, "Most FLOPs, and elements of results, before it is refused.", metavar="N")
    ]


class RunningOptions(ParameterOptions, WorkOptions, total=False):
    """Options of every pass."""


class ProgressOptions(TypedDict, total=False):
    """A function that is told of the progress."""

    progress: Annotated[
        Callable[[int, int, str], None] | None,
        Option(
            FUNCTION,
            None,
            "Function that is called with the number of steps done, the number of all steps, and a path.",
            (),
        ),
    ]


class PlanOptions(TypedDict, total=False):
    """Execution of a forward pass."""

    plan: Annotated[
        PlanName,
        Option(choice(*get_args(PlanName)), "fast", "Planned as a whole, or one reference kernel after the other."),
    ]
    threads: Annotated[
        int | None, Option(THREADS, None, "Threads of a planned run; by default all cores.", metavar="N")
    ]
    processes: Annotated[
        bool, Option(FLAG, False, "Worker processes instead of threads, on Linux; commands use them.", ())
    ]


class RunOptions(RunningOptions, PlanOptions, ProgressOptions, total=False):
    """Options of ``run``."""

    trace: Annotated[
        Sequence[str],
        Option(PATTERNS, (), "Statistics of values, by path, as in 'layer1.*'; repeatable.", metavar="PATTERN"),
    ]
    keep: Annotated[bool, Option(FLAG, False, "Record traced arrays too.", ())]
    profiled: Annotated[
        bool, Option(FLAG, False, "Time further passes; report time by layer, and memory.", ("--profile",))
    ]


class CompileOptions(DrawOptions, WorkOptions, total=False):
    """Options of ``Network.compile``."""

    threads: Annotated[int | None, Option(THREADS, None, "Workers; by default all cores.")]
    processes: Annotated[bool, Option(FLAG, False, "Worker processes instead of threads, on Linux.", ())]


class RoundingOptions(RunningOptions, PlanOptions, ProgressOptions, LayerOptions, total=False):
    """Options of ``run --quantize`` and ``--prune``."""


class GradientOptions(RunningOptions, UnrollOptions, total=False):
    """Options of ``run --backward``."""

    loss: Annotated[
        str | Mapping[str, Any] | None,
        Option(
            LOSS,
            None,
            "With --backward: loss for the spec's own, sum of all outputs, or an output.",
            metavar="NAME",
            shown_default="loss, or sum",
        ),
    ]
    wrt: Annotated[
        Sequence[str] | None,
        Option(PATTERNS, None, "With --backward: parameters by path, inputs by name; repeatable.", metavar="PATTERN"),
    ]


class VerifyOptions(WeightsOptions, WorkOptions, ProgressOptions, total=False):
    """Options of ``verify``."""

    receptive_field: Annotated[
        bool, Option(FLAG, False, "Also check receptive fields, by propagating NaNs in further passes.")
    ]
    values: Annotated[
        bool, Option(FLAG, False, "Also compare each operation with an independent definition of its values.")
    ]
    backward: Annotated[
        bool, Option(FLAG, False, "Also run backward; check the work of every product and what is saved for it.")
    ]


class SignalOptions(RunningOptions, ProgressOptions, total=False):
    """Options of ``signal``."""

    seeds: Annotated[int, Option(COUNT, 3, "Number of seeds that figures are means over.", metavar="N")]
    loss: Annotated[
        str | None, Option(LOSS, None, "random, loss, sum, or an output.", metavar="NAME", shown_default="random")
    ]
    depth: Annotated[int | None, Option(COUNT, None, "Join layers deeper than N parts of a path.", metavar="N")]


class TrainOptions(RunningOptions, ProgressOptions, total=False):
    """Options of ``train``."""

    training: Annotated[
        str | None, Option(OPTIMIZER, "adamw", "sgd, momentum, nesterov, adam or adamw.", metavar="OPTIMIZER")
    ]
    lr: Annotated[float | None, Option(RATE, None, "Learning rate.", None, "X", "0.001", "Optimizer")]
    settings: Annotated[
        Mapping[str, float] | None,
        Option(
            NUMBERS,
            None,
            "A setting of the optimizer, such as weight_decay=0.1, momentum=0.9 or beta2=0.95; repeatable.",
            ("--hyper",),
            "NAME=X",
            panel="Optimizer",
        ),
    ]
    schedule: Annotated[
        ScheduleName,
        Option(choice(*get_args(ScheduleName)), "constant", "Learning rates after the warm-up.", panel="Optimizer"),
    ]
    warmup: Annotated[
        int, Option(NATURAL, 0, "Steps in which the rate rises to its value.", metavar="N", panel="Optimizer")
    ]
    least_lr: Annotated[float, Option(RATE, 0.0, "End of a cosine.", metavar="X", panel="Optimizer")]
    clip: Annotated[
        float | None, Option(AMOUNT, None, "Greatest norm of all gradients.", metavar="X", panel="Optimizer")
    ]
    data: Annotated[
        str | Path | Mapping[str, Any],
        Option(SAMPLES, "synthetic", "Samples by input: .npz or .safetensors.", metavar="FILE|synthetic"),
    ]
    loss: Annotated[str | None, Option(LOSS, None, "An output, or sum.", metavar="NAME", shown_default="the spec's")]
    checkpoint_file: Annotated[
        str | Path | None,
        Option(PATH, None, "Write all that a later run needs: .safetensors.", ("--checkpoint",), "FILE", panel="Files"),
    ]
    checkpoint_every: Annotated[
        int | None, Option(COUNT, None, "Write it after every N steps too.", metavar="N", panel="Files")
    ]
    resume: Annotated[str | Path | None, Option(PATH, None, "Go on from a checkpoint.", metavar="FILE", panel="Files")]
