"""Options, each declared once: name, kind of values, default and help.

A verb takes groups of options, which are typed dictionaries.  The methods of :class:`~netcalc.network.Network` unpack
them into their signatures, check and complete them by :func:`~netcalc.arguments.accepts`; the command line reads the
same declarations.
"""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, get_args

from netcalc.arguments import (
    ADAPTERS,
    AMOUNT,
    ASSIGNMENTS,
    BUDGET,
    CONVENTION,
    CONVENTIONS,
    COUNT,
    DEVICE,
    FLAG,
    LOSS,
    NAME,
    NAMES,
    OPTIMIZER,
    PATTERNS,
    SETTINGS,
    TOKENS,
    Option,
    choice,
)
from netcalc.exclude_options import ExcludeOptions
from netcalc.limits import BUILD_SECONDS, MAX_SPEC_SIZE
from netcalc.serving_options import PlacementOptions
from netcalc.split_options import SplitOptions

#: Mode of the operations that differ in training, such as dropout.
Mode: TypeAlias = Literal["eval", "train"]
#: Floating-point element types.
FLOAT_TYPE = choice("bfloat16", "float16", "float32", "float64")
#: Execution of a run: by a plan, or operation by operation with the reference kernels.
PlanName: TypeAlias = Literal["fast", "reference"]
#: Libraries that execute the file of a model too.
ReferenceName: TypeAlias = Literal["onnx", "onnxruntime"]
#: Kernel of attention: products that keep the scores, the fused one of PyTorch for the CPU, or FlashAttention-2.
AttentionKernel: TypeAlias = Literal["eager", "sdpa-cpu", "flash"]
#: Element types of a step of training, by the names of Lightning.
PrecisionName: TypeAlias = Literal["32-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed", "fp8-mixed"]
#: Ways to keep weights under mixed precision.
Mixed: TypeAlias = Literal["autocast", "deepspeed", "megatron"]
#: Phase whose memory is counted: all positions at once, the step of the last one, or a step of training.
Phase: TypeAlias = Literal["prefill", "decode", "training"]
#: Element types of the peaks of devices.
PeakType: TypeAlias = Literal["float64", "float32", "tf32", "bfloat16", "float16", "fp8", "int8", "fp4", "int4"]
#: Algorithm of convolutions.
ConvolutionName: TypeAlias = Literal["direct", "winograd"]
#: Positions whose logits a causal language model computes.
LogitsOf: TypeAlias = Literal["all", "last"]
#: Figures of a summary that are shown.
ReportName: TypeAlias = Literal["shapes", "params", "flops", "summary"]
#: Origin of the bytes of a model's weights.
BytesFrom: TypeAlias = Literal["headers", "configuration"]
#: Way of a foreign model to a spec: the table of its type, or the library that builds it.
Via: TypeAlias = Literal["table", "library"]
#: Adapters as they are given: ``"[PATTERN=]RANK"``, several of these, a rank, or ranks or settings by pattern.
LoraArgument: TypeAlias = str | int | Iterable[str] | Mapping[str, Any]
#: Values of dims and vars by name, or texts ``NAME=VALUE``.
SettingsArgument: TypeAlias = Mapping[str, Any] | Iterable[str]
#: Element type of caches.
CacheType: TypeAlias = Annotated[
    str | None,
    Option(NAME, None, "Element type of caches, such as fp8 or q8_0.", metavar="TYPE", shown_default="their own"),
]


class SourceOptions(TypedDict, total=False):
    """Reading of a spec."""

    max_spec_size: Annotated[int, Option(COUNT, MAX_SPEC_SIZE, "Largest spec file that is read.", metavar="BYTES")]
    ignore: Annotated[
        Sequence[str],
        Option(NAMES, (), "Read a configuration without a field that is not known; repeatable.", metavar="FIELD"),
    ]
    via: Annotated[
        Via | None,
        Option(
            choice(*get_args(Via)),
            None,
            "Read a config.json by the table of its type, or let its library build the model.",
            shown_default="table, else library",
        ),
    ]
    timeout: Annotated[
        int, Option(COUNT, BUILD_SECONDS, "Time that a library may take to build a model.", metavar="SECONDS")
    ]
    example: Annotated[
        Sequence[str],
        Option(
            PATTERNS,
            (),
            "An input of a model that a library builds, or an argument of a PyTorch module; repeatable.",
            ("--example", "-e"),
            "NAME=TYPE:SIZES",
        ),
    ]


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
        Option(FLOAT_TYPE, None, "Type of floating-point inputs and parameters.", shown_default="the spec's"),
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

    symbolic: Annotated[Sequence[str], Option(NAMES, (), "Keep a dim or var as a symbol; repeatable.", metavar="NAME")]
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
            CONVENTION,
            "netcalc",
            "Counting: netcalc, torch, torchvision, fvcore, … or a YAML file.",
            ("--convention", "-c"),
            "NAME",
        ),
    ]


class DescribeOptions(SourceOptions, ConventionOptions, total=False):
    """Options of the pages of specs."""


class SpecListOptions(ConventionOptions, total=False):
    """Choice among the shipped specs."""

    family: Annotated[str | None, Option(NAME, None, "Only specs of the family, such as resnet.", metavar="FAMILY")]


class OperationListOptions(TypedDict, total=False):
    """Choice among operations and blocks."""

    search: Annotated[
        str | None, Option(NAME, None, "Only operations and blocks that mention the word.", metavar="WORD")
    ]


class TrainingOptions(TypedDict, total=False):
    """A step of training."""

    training: Annotated[
        str | None,
        Option(
            OPTIMIZER,
            None,
            "Count a step of training: forward, backward, update by sgd, adam, adamw, lion and others.",
            metavar="OPTIMIZER",
        ),
    ]


class BackwardOptions(TrainingOptions, total=False):
    """Passes whose work is counted."""

    backward: Annotated[bool, Option(FLAG, False, "Count a backward pass too.")]
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
    input_gradients: Annotated[
        Sequence[str],
        Option(
            NAMES, (), "Count the gradient of an input too, beside those of parameters; repeatable.", metavar="INPUT"
        ),
    ]


class AttentionOptions(TypedDict, total=False):
    """Kernel of attention."""

    attention: Annotated[
        AttentionKernel,
        Option(
            choice(*get_args(AttentionKernel)),
            "sdpa-cpu",
            "Kernel of attention in eager mode: products that store scores, PyTorch's on CPUs, or FlashAttention.",
        ),
    ]


class WorkOptions(BackwardOptions, AttentionOptions, ExcludeOptions, total=False):
    """Passes and layers whose work is counted."""


class CountOptions(ConventionOptions, WorkOptions, total=False):
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


class PipelineOptions(VariantOptions, ConventionOptions, total=False):
    """Options of the summary of a pipeline."""


class ComparisonOptions(VariantOptions, DepthOptions, total=False):
    """Options of ``compare``."""

    convention: Annotated[
        str | Iterable[str],
        Option(
            CONVENTIONS,
            "netcalc",
            "Counting: netcalc, torch, torchvision, fvcore, … or a YAML file; repeatable, to compare conventions.",
            ("--convention", "-c"),
            "NAME",
        ),
    ]
    all: Annotated[bool, Option(FLAG, False, "Also show what does not differ.", ("--all", "-a"))]


class ReceptiveFieldOptions(TypedDict, total=False):
    """Receptive fields."""

    receptive_field: Annotated[
        bool, Option(FLAG, False, "Receptive field, effective stride and offset of every layer, unrolled.")
    ]


class SummaryOptions(LayerOptions, WorkOptions, ReceptiveFieldOptions, total=False):
    """Options of the verbs that count by layer."""


class StoredOptions(TypedDict, total=False):
    """Origin of the bytes of weights."""

    bytes_from: Annotated[
        BytesFrom,
        Option(
            choice(*get_args(BytesFrom)),
            "headers",
            "Bytes of weights by the headers of a model's files, where there are any, or by its configuration alone.",
        ),
    ]


class DeviceOptions(TypedDict, total=False):
    """Devices on which a model runs."""

    device: Annotated[
        str | int | None,
        Option(
            DEVICE,
            None,
            "Device by name, as in h100 or h100:8; bytes of memory, as in 80GiB; a YAML file; or this machine (this).",
            metavar="NAME[:COUNT]",
        ),
    ]


class RecomputeOptions(TrainingOptions, total=False):
    """Parts of a step of training that are done twice."""

    recompute: Annotated[
        str,
        Option(
            NAME,
            "none",
            "Compute again in the backward pass: none, selective (attention), full (layers), or every:k layers.",
            metavar="PARTS",
        ),
    ]


class StepOptions(RecomputeOptions, total=False):
    """The way in which a step of training is done."""

    precision: Annotated[
        PrecisionName | None,
        Option(
            choice(*get_args(PrecisionName)),
            None,
            "Element types of training, by the names of Lightning; in place of --dtype.",
            shown_default="those of the model",
        ),
    ]
    mixed: Annotated[
        Mixed | None,
        Option(
            choice(*get_args(Mixed)),
            None,
            "Weights under mixed precision: float32 and cast, or 16 bits with a float32 copy.",
            shown_default="autocast",
        ),
    ]
    micro_batch: Annotated[
        int | None,
        Option(COUNT, None, "Batch of a pass; the passes that share the batch add up their gradients."),
    ]
    accumulate: Annotated[
        int, Option(COUNT, 1, "Passes before an update, which share the batch unless --micro-batch is given.")
    ]


class PhaseOptions(TypedDict, total=False):
    """The work that a report speaks of."""

    phase: Annotated[
        Phase | None,
        Option(
            choice(*get_args(Phase)),
            None,
            "All positions at once, a step of decoding at the last one, or forward and backward pass.",
            shown_default="a forward pass; training with --training",
        ),
    ]
    logits: Annotated[
        LogitsOf | None,
        Option(
            choice(*get_args(LogitsOf)),
            None,
            "Positions whose logits a causal language model computes.",
            shown_default="last in prefill and decode",
        ),
    ]


class HeldOptions(
    StoredOptions, AttentionOptions, StepOptions, PhaseOptions, PlacementOptions, SplitOptions, total=False
):
    """Memory that is held."""

    cache: Annotated[
        str | Iterable[str],
        Option(
            ASSIGNMENTS,
            (),
            "Memory of caches: ideal, vllm, vllm-hybrid or llama.cpp.",
            metavar="NAME",
            shown_default="all; ideal with --over",
        ),
    ]
    cache_dtype: CacheType
    tokens_in: Annotated[
        str | int | None,
        Option(
            BUDGET,
            None,
            "Tokens that fit with weights and the activations of --phase, by default as the sizes say, as in 24GB.",
            metavar="BYTES",
        ),
    ]
    engine: Annotated[
        PlanName | None,
        Option(choice(*get_args(PlanName)), None, "Add the memory of NumPy's engine, with its default threads."),
    ]


class MemoryOptions(DepthOptions, HeldOptions, total=False):
    """Options of ``memory``."""


class BoundOptions(DeviceOptions, PhaseOptions, StepOptions, AttentionOptions, SplitOptions, total=False):
    """Bound of a time."""

    efficiency: Annotated[
        float | None,
        Option(AMOUNT, None, "Share of the peak that is reached, as in 0.4: the time at it, too.", metavar="SHARE"),
    ]
    tokens: Annotated[
        str | int | None,
        Option(TOKENS, None, "Tokens of a whole training, as in 15T or 300B: days, FLOPs and energy.", metavar="N"),
    ]
    arithmetic: Annotated[
        PeakType | None,
        Option(
            choice(*get_args(PeakType)),
            None,
            "Element type whose peak counts for all products, such as tf32, fp8 or int8.",
            shown_default="of each tensor",
        ),
    ]
    convolution: Annotated[
        ConvolutionName | None,
        Option(
            choice(*get_args(ConvolutionName)),
            None,
            "Algorithm of 3×3 convolutions: Winograd's needs a quarter of the products.",
            shown_default="direct; winograd on this machine",
        ),
    ]
    unfused: Annotated[
        bool, Option(FLAG, False, "Count operations without products as kernels of their own, as in eager mode.")
    ]


class FormulaOptions(CountOptions, DepthOptions, HeldOptions, BoundOptions, total=False):
    """Options of ``explain`` that execute nothing."""

    memory: Annotated[bool, Option(FLAG, False, "Explain the figures of `netcalc memory` in place of the counts.")]
    fit: Annotated[bool, Option(FLAG, False, "Explain the answer of `netcalc fit` for --device.")]
    complexity: Annotated[
        bool,
        Option(FLAG, False, "Work, sequential steps and paths between positions, for each kind of layer."),
    ]
    window: Annotated[
        int,
        Option(COUNT, 32, "Steps of truncated backpropagation through time, for a recurrent layer with --backward."),
    ]


class TimeOptions(BoundOptions, LayerOptions, total=False):
    """Options of ``time``."""
