"""Each step runs forward, loss, backward and update in NumPy, in training mode: dropout by the seed, batch statistics,
running statistics updated. This proves what netcalc predicts of a training step, and shows how it works. It is no way
to train a model: use PyTorch for that.

--data takes an .npz or .safetensors file with an array for each input, those of the loss such as labels included; the
first axis of an array has the samples. Each epoch goes through them in an order of its own. --data synthetic draws one
batch, as netcalc run draws its inputs, and takes it in every step, so that the loss falls.

The loss is that of the spec; --loss takes the name of an output in its place, whose elements are summed, or sum for all
outputs. --training names the optimizer, whose settings have torch.optim's names and defaults. --steps counts those of
the checkpoint of --resume. A run that is resumed with the same options gives the same numbers as one that was not
interrupted, bit by bit. --output writes the parameters after the last step, for --weights.

--lora trains adapters only. --quantize rounds the parameters once, before the first step: with --lora that is QLoRA.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from netcalc.cli import options
from netcalc.cli.declarations import Option
from netcalc.cli.run import Init
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.training import TrainingResult


class ScheduleChoice(StrEnum):
    """Learning rates after the warm-up."""

    CONSTANT = "constant"
    COSINE = "cosine"


_OPTIMIZER = "Optimizer"
_FILES = "Files"

Steps: TypeAlias = Annotated[int, Option("--steps", metavar="N", min=1, help="Number of the last step.")]
Training: TypeAlias = Annotated[
    str,
    Option("--training", metavar="OPTIMIZER", help="sgd, momentum, nesterov, adam or adamw."),
]
Rate: TypeAlias = Annotated[
    float | None,
    Option("--lr", metavar="X", help="Learning rate.", show_default="0.001", rich_help_panel=_OPTIMIZER),
]
Hyper: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--hyper",
        metavar="NAME=X",
        help="A setting of the optimizer, such as weight_decay=0.1, momentum=0.9 or beta2=0.95; repeatable.",
        rich_help_panel=_OPTIMIZER,
    ),
]
Schedules: TypeAlias = Annotated[
    ScheduleChoice,
    Option("--schedule", help="Learning rates after the warm-up.", rich_help_panel=_OPTIMIZER),
]
Warmup: TypeAlias = Annotated[
    int,
    Option(
        "--warmup", metavar="N", min=0, help="Steps in which the rate rises to its value.", rich_help_panel=_OPTIMIZER
    ),
]
Least: TypeAlias = Annotated[
    float,
    Option("--least-lr", metavar="X", help="End of a cosine.", rich_help_panel=_OPTIMIZER),
]
Clip: TypeAlias = Annotated[
    float | None,
    Option("--clip", metavar="X", help="Greatest norm of all gradients.", rich_help_panel=_OPTIMIZER),
]
Data: TypeAlias = Annotated[
    str, Option("--data", metavar="FILE|synthetic", help="Samples by input: .npz or .safetensors.")
]
Batch: TypeAlias = Annotated[
    int | None, Option("--batch", metavar="N", min=1, help="Samples of a step: --set batch=N.")
]
Loss: TypeAlias = Annotated[
    str | None, Option("--loss", metavar="NAME", help="An output, or sum.", show_default="the spec's")
]
Checkpoint: TypeAlias = Annotated[
    str | None,
    Option(
        "--checkpoint", metavar="FILE", help="Write all that a later run needs: .safetensors.", rich_help_panel=_FILES
    ),
]
Every: TypeAlias = Annotated[
    int | None,
    Option("--checkpoint-every", metavar="N", min=1, help="Write it after every N steps too.", rich_help_panel=_FILES),
]
Resume: TypeAlias = Annotated[
    str | None, Option("--resume", metavar="FILE", help="Go on from a checkpoint.", rich_help_panel=_FILES)
]
Plot: TypeAlias = Annotated[
    str | None,
    Option("--plot", metavar="FILE", help="Draw the loss curve as .svg or .png.", rich_help_panel=_FILES),
]
Parameters: TypeAlias = Annotated[
    str | None,
    Option("--output", "-o", metavar="FILE", help="Write the parameters and buffers.", rich_help_panel=_FILES),
]


def command(
    spec: options.Spec,
    steps: Steps = 20,
    training: Training = "adamw",
    lr: Rate = None,
    hyper: Hyper = None,
    schedule: Schedules = ScheduleChoice.CONSTANT,
    warmup: Warmup = 0,
    least_lr: Least = 0.0,
    clip: Clip = None,
    data: Data = "synthetic",
    batch: Batch = None,
    loss: Loss = None,
    set_: options.Set = None,
    weights: options.Weights = None,
    cast: options.Cast = False,
    init: Init = None,
    seed: options.Seed = 0,
    checkpoint: Checkpoint = None,
    checkpoint_every: Every = None,
    resume: Resume = None,
    plot: Plot = None,
    output: Parameters = None,
    format_: options.FormatChoice = options.Format.TABLE,
    wide: options.Wide = False,
    dtype: options.Dtype = None,
    lora: options.Lora = None,
    quantize: options.Quantize = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
    max_work: options.MaxWork = None,
) -> None:
    """Train, print the loss curve, and write files."""
    import numpy  # noqa: F401 - first: CPython 3.11 imports it slowly below a deep stack of nested imports

    from netcalc.cli.output import write
    from netcalc.cli.pictures import require_picture
    from netcalc.render.progress import Progress
    from netcalc.training import Recipe, train

    recipe = Recipe(steps, training, lr, _hyper(hyper or []), loss, schedule.value, warmup, least_lr, clip, seed)
    require_picture(plot)
    _require_tensor_file(output)
    program = options.read_program(spec, _sizes(set_, batch), None, True, dtype, max_spec_size, lora, quantize)
    options.note_downloads(read := options.read_weights(weights, spec))
    with Progress() as progress:
        result = train(
            program,
            recipe,
            data,
            weights=read or None,
            init=init or "default",
            cast=cast,
            checkpoint_file=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            progress=progress,
            max_work=max_work,
        )
    _save(result, plot, output)
    write(_lines(result, data, format_, wide=wide))


def _sizes(settings: list[str] | None, batch: int | None) -> list[str]:
    return [*(settings or []), *([] if batch is None else [f"batch={batch}"])]


def _hyper(texts: list[str]) -> dict[str, float]:
    """Return settings of the optimizer by name; NetcalcError (E502) with every malformed one."""
    from netcalc.diagnostics import Diagnostic, NetcalcError

    found, problems = {}, []
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            hint = "for example --hyper weight_decay=0.1"
            problems.append(Diagnostic("E502", f"--hyper {text}: should be name=number", hint=hint))
    if problems:
        raise NetcalcError(problems)
    return found


def _lines(result: TrainingResult, data: str, format_: options.Format, *, wide: bool) -> Iterable[str]:
    """The lines of the result in the chosen format."""
    from netcalc.cli.output import terminal_for
    from netcalc.records.train import training_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.table_csv import table_csv
    from netcalc.render.training import steps_table, training_page

    match format_:
        case options.Format.JSON:
            return json_lines(training_record(result), "steps")
        case options.Format.CSV:
            return table_csv(steps_table(result.steps, seconds=True))
        case options.Format.MARKDOWN:
            return page_markdown(training_page(result, data))
    return page_text(training_page(result, data), terminal_for(None, wide=wide))


def _require_tensor_file(output: str | None) -> None:
    """Raise NetcalcError (E502) for a file of tensors that could not be written after training."""
    from pathlib import Path

    from netcalc.diagnostics import Diagnostic, NetcalcError

    if output is None:
        return
    if not output.lower().endswith((".safetensors", ".npz")):
        raise NetcalcError(Diagnostic("E502", f"--output {output}: the name should end in .safetensors or .npz"))
    if not Path(output).absolute().parent.is_dir():
        raise NetcalcError(Diagnostic("E502", f"--output {output}: there is no folder {str(Path(output).parent)!r}"))


def _save(result: TrainingResult, plot: str | None, output: str | None) -> None:
    """Write the loss curve, and parameters and buffers, where files for them are given."""
    if plot is not None:
        from netcalc.cli.pictures import write_charts
        from netcalc.render.training import loss_chart

        write_charts(plot, [loss_chart(result)])
    if output is not None:
        from netcalc.weights.tensor_files import write_tensors

        tensors: dict[str, Any] = {**result.parameters, **result.buffers}
        write_tensors(output, tensors)
