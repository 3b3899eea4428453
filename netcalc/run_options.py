"""Options of everything that is executed: runs, gradients, verification, signals and training.

They are apart from :mod:`netcalc.options`, so that counting does not create them.
"""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, get_args

from netcalc.arguments import (
    AMOUNT,
    COUNT,
    FLAG,
    FUNCTION,
    INDEX,
    INITIALIZERS,
    LOSS,
    NATURAL,
    NUMBERS,
    OPTIMIZER,
    PATH,
    PATTERNS,
    RATE,
    RATES,
    SAMPLES,
    THREADS,
    WEIGHTS,
    Option,
    choice,
)
from netcalc.options import (
    FormulaOptions,
    LayerOptions,
    ModelOptions,
    PlanName,
    ReferenceName,
    SourceOptions,
    UnrollOptions,
)

#: Learning rates after the warm-up.
ScheduleName: TypeAlias = Literal["constant", "cosine", "linear", "step"]


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


class ReproductionOptions(ProgressOptions, total=False):
    """Options of ``reproduce``."""


class CheckOptions(SourceOptions, ProgressOptions, total=False):
    """Options of ``check``."""


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
    histogram: Annotated[
        bool, Option(FLAG, False, "Distributions of traced tensors, or of all layers; --plot and --charts draw them.")
    ]
    profiled: Annotated[
        bool, Option(FLAG, False, "Time further passes; report time by layer, and memory.", ("--profile",))
    ]


class ExplainOptions(FormulaOptions, RunningOptions, total=False):
    """Options of ``explain``."""

    values: Annotated[
        bool, Option(FLAG, False, "The working in numbers too, of inputs that --input gives or that are drawn.")
    ]
    at: Annotated[
        str | Sequence[int] | None,
        Option(
            INDEX, None, "Element or row of the output whose working in numbers is shown: --at 0,2.", metavar="I,J,…"
        ),
    ]
    init: Annotated[  # type: ignore[misc]  # the option of a run, in other words
        str | Iterable[str] | None,
        Option(
            INITIALIZERS,
            None,
            "Initializer of weights, with its formula and what is drawn; repeatable.",
            metavar="[PATTERN=]INITIALIZER",
        ),
    ]
    loss: Annotated[
        str | None,
        Option(
            LOSS,
            None,
            "Start the backward pass from the loss of the spec (loss), all outputs (sum), an output, or its gradient.",
            metavar="OUTPUT[=VALUES]",
            shown_default="sum; loss for --training",
        ),
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
            "With --backward: loss for the spec's own, sum of all outputs, an output, or its gradient in numbers.",
            metavar="NAME[=VALUES]",
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
        bool, Option(FLAG, False, "Also run backward; check work and saved tensors, and with --values gradients.")
    ]


class ReferenceOptions(CastOptions, WorkOptions, ProgressOptions, total=False):
    """Options of ``verify_reference``."""

    reference: Annotated[
        ReferenceName,
        Option(choice(*get_args(ReferenceName)), "onnxruntime", "Library that executes the model too.", ()),
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
        str | None,
        Option(
            OPTIMIZER,
            "adamw",
            "sgd, momentum, nesterov, adam, adamw, rmsprop, adagrad, lion, adafactor or muon.",
            metavar="OPTIMIZER",
        ),
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
    least_lr: Annotated[float, Option(RATE, 0.0, "End of a cosine or a line.", metavar="X", panel="Optimizer")]
    step_size: Annotated[
        int | None, Option(COUNT, None, "Steps between two decays of --schedule step.", metavar="N", panel="Optimizer")
    ]
    gamma: Annotated[
        float, Option(RATE, 0.1, "Factor of each decay of --schedule step.", metavar="X", panel="Optimizer")
    ]
    clip: Annotated[
        float | None, Option(AMOUNT, None, "Greatest norm of all gradients.", metavar="X", panel="Optimizer")
    ]
    data: Annotated[
        str | Path | Mapping[str, Any],
        Option(SAMPLES, "synthetic", "Samples by input: .npz or .safetensors.", metavar="FILE|synthetic"),
    ]
    loss: Annotated[str | None, Option(LOSS, None, "An output, or sum.", metavar="NAME", shown_default="the spec's")]
    watch: Annotated[
        Sequence[str],
        Option(PATTERNS, (), "Mean and deviation of outputs by step, as of '*.act'; repeatable.", metavar="PATTERN"),
    ]
    checkpoint_file: Annotated[
        str | Path | None,
        Option(PATH, None, "Write all that a later run needs: .safetensors.", ("--checkpoint",), "FILE", panel="Files"),
    ]
    checkpoint_every: Annotated[
        int | None, Option(COUNT, None, "Write it after every N steps too.", metavar="N", panel="Files")
    ]
    resume: Annotated[str | Path | None, Option(PATH, None, "Go on from a checkpoint.", metavar="FILE", panel="Files")]
    stop_after: Annotated[
        int | None, Option(COUNT, None, "Stop after N steps of this run.", metavar="N", panel="Files")
    ]


class TrainingComparisonOptions(TrainOptions, ModelOptions, total=False):
    """Options of ``train`` with several models."""

    lr: Annotated[  # type: ignore[misc] # several rates in place of one
        float | Sequence[float] | None,
        Option(RATES, None, "Learning rate, or several to compare.", None, "X[,X…]", "0.001", "Optimizer"),
    ]


class SignalComparisonOptions(SignalOptions, ModelOptions, total=False):
    """Options of ``signal`` with several models."""
