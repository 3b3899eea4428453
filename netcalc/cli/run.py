"""Inputs without --input are drawn at random within their declared range, and weights from their initialisers.

--init takes an initialiser (default, xavier_normal, kaiming_uniform(mode=fan_out, nonlinearity=relu), normal(std=0.02),
constant(0.1), zeros, …) for all parameters, or PATTERN=INITIALISER for parameters whose path matches.

By default the run is planned as a whole: operations are fused and distributed over all threads, with all weights in
memory. --plan reference runs the reference kernels one after the other; --trace and --mode train imply it. --profile
reports the time of each layer of a planned run, and its memory. --sort, --top and --filter select layers of the profile
or traced tensors.

--trace takes the path of a row of netcalc shapes: a layer (layer1.0.conv1), a group or a repeat as a whole (layer1), or
a range of iterations (layers.0-11.attn); * matches any part. --output writes a traced tensor under its path, or as
trace.PATH if an output has that name. With --mode train it also writes updated buffers, such as running statistics,
under their paths.

--backward runs forward and backward, and reports the norm of the gradient of each layer. The loss is that of the spec,
or the sum of its outputs; --loss sum, or the name of an output, chooses another. --wrt takes patterns of paths of
parameters and names of inputs. --output then writes the gradients, under the paths of their parameters.

--quantize and --prune round the weights to a scheme or remove the smallest, and print the error of each output and each
layer against the run in full precision. --depth N sums up layers, --unroll has a row for each instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from netcalc.cli import options
from netcalc.cli.declarations import Option
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.engine.profile import LayerTime
    from netcalc.engine.run import RunResult
    from netcalc.ir import Program
    from netcalc.numerics.trace import TraceRow
    from netcalc.render.selection import Selection


class PlanChoice(StrEnum):
    """Way of executing the network."""

    FAST = "fast"
    REFERENCE = "reference"


Inputs: TypeAlias = Annotated[
    list[str] | None,
    Option("--input", "-i", metavar="NAME=FILE", help="An input from .npy, .npz or .safetensors."),
]
Init: TypeAlias = Annotated[
    list[str] | None,
    Option("--init", metavar="[PATTERN=]INITIALISER", help="Initialiser of weights; repeatable."),
]
Trace: TypeAlias = Annotated[
    list[str] | None,
    Option("--trace", metavar="PATTERN", help="Statistics of values, by path, as in 'layer1.*'; repeatable."),
]
Tensors: TypeAlias = Annotated[
    str | None,
    Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write outputs, traced tensors, updated buffers.",
    ),
]
Plan: TypeAlias = Annotated[
    PlanChoice, Option("--plan", help="Planned as a whole, or one reference kernel after the other.")
]
Threads: TypeAlias = Annotated[
    int | None,
    Option("--threads", metavar="N", min=1, help="Threads of a planned run; by default all cores."),
]
Backward: TypeAlias = Annotated[
    bool, Option("--backward", help="Run backward too; report the gradients of the loss by layer.")
]
Loss: TypeAlias = Annotated[
    str | None,
    Option(
        "--loss",
        metavar="NAME",
        help="With --backward: loss for that of the spec, sum of all outputs, or an output.",
        show_default="loss, or sum",
    ),
]
Wrt: TypeAlias = Annotated[
    list[str] | None,
    Option("--wrt", metavar="PATTERN", help="With --backward: parameters by path, inputs by name; repeatable."),
]
Profile: TypeAlias = Annotated[bool, Option("--profile", help="Time further passes; report time by layer, and memory.")]


def command(
    spec: options.Spec,
    set_: options.Set = None,
    inputs: Inputs = None,
    weights: options.Weights = None,
    cast: options.Cast = False,
    init: Init = None,
    seed: options.Seed = 0,
    trace: Trace = None,
    output: Tensors = None,
    format_: options.TextFormatChoice = options.TextFormat.TABLE,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
    mode: options.ModeChoice = None,
    train: options.Train = False,
    dtype: options.Dtype = None,
    lora: options.Lora = None,
    quantize: options.Quantize = None,
    prune: options.Prune = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
    max_work: options.MaxWork = None,
    plan: Plan = PlanChoice.FAST,
    threads: Threads = None,
    profile: Profile = False,
    backward: Backward = False,
    loss: Loss = None,
    wrt: Wrt = None,
    unroll: options.Unroll = False,
    depth: options.Depth = None,
) -> None:
    """Run the network, print statistics of its outputs or gradients, and write tensors to --output."""
    import numpy  # noqa: F401 - first: CPython 3.11 imports it slowly below a deep stack of nested imports

    from netcalc.cli.output import write
    from netcalc.cli.written import save_tensors, written_tensors

    rounding = bool(quantize or prune)
    refused = {"--backward": backward, "--trace": trace, "--profile": profile}
    _check_options(backward, rounding, {"--loss": loss, "--wrt": wrt, "--unroll": unroll}, depth, refused, threads)
    training = options.is_training(mode, train)
    program = options.read_program(spec, set_, None, training, dtype, max_spec_size, lora, quantize, prune)
    read = options.read_weights(weights, spec)
    options.note_downloads(read)
    selection = options.read_selection(sort, top, filter_)
    common = {"weights": read or None, "cast": cast, "init": init or "default", "seed": seed, "max_work": max_work}
    names = [path if isinstance(path, str) else path.name for path in read]
    if backward:
        write(_backward(program, inputs, common, loss, wrt, output, selection, format_, names, wide, unroll))
        return
    arrays = read_inputs(program, inputs or [])
    planned = {"plan": plan.value, "threads": threads, "processes": True}
    if rounding:
        write(_rounding(program, arrays, common | planned, output, selection, format_, names, (wide, unroll, depth)))
        return
    planned["profiled"] = profile
    result = _forward(program, arrays, common | planned, trace or (), keep=output is not None)
    save_tensors(written_tensors(result) if output else {}, output)
    write(_lines(result, selection, format_, _origin(program, arrays, names, seed), wide))


def _check_options(
    backward: bool,
    rounding: bool,
    of_backward: Mapping[str, Any],
    depth: int | None,
    refused: Mapping[str, Any],
    threads: int | None,
) -> None:
    """Raise NetcalcError (E502) for options that do not go with or without ``--backward``, or with rounding."""
    from netcalc.cli.backward import require_backward, require_forward
    from netcalc.cli.rounding import refuse, require_rounding

    if rounding:
        refuse({**refused, **{name: value for name, value in of_backward.items() if name != "--unroll"}})
        return
    require_rounding({"--depth": depth})
    if backward:
        require_forward(
            {**{name: value for name, value in refused.items() if name != "--backward"}, "--threads": threads}
        )
    else:
        require_backward(of_backward)


def _rounding(
    program: Program,
    arrays: Mapping[str, Any],
    arguments: Mapping[str, Any],
    output: str | None,
    selection: Selection,
    format_: options.TextFormat,
    weights: Sequence[str],
    shown: tuple[bool, bool, int | None],
) -> Iterable[str]:
    """Run with rounded parameters and without, write the outputs of the former, and return the lines of the errors."""
    from netcalc.cli.rounding import check_selection, rounding_lines, rounding_result
    from netcalc.cli.written import save_tensors

    check_selection(selection)
    result = rounding_result(program, arrays, arguments)
    save_tensors(result.outputs, output)
    origin = _origin(program, arrays, weights, result.seed)
    wide, unroll, depth = shown
    return rounding_lines(result, selection, format_, origin, wide=wide, unroll=unroll, depth=depth)


def _forward(
    program: Program, arrays: Mapping[str, Any], arguments: Mapping[str, Any], trace: Sequence[str], *, keep: bool
) -> RunResult:
    """Run forward with a progress bar."""
    from netcalc.engine.run import forward
    from netcalc.render.progress import Progress

    with Progress() as progress:
        return forward(program, arrays, trace=trace, keep=keep, progress=progress, **arguments)


def _backward(
    program: Program,
    inputs: list[str] | None,
    arguments: Mapping[str, Any],
    loss: str | None,
    wrt: list[str] | None,
    output: str | None,
    selection: Selection,
    format_: options.TextFormat,
    weights: Sequence[str],
    wide: bool,
    unroll: bool,
) -> Iterable[str]:
    """Run forward and backward, write the gradients, and return the lines of the result."""
    from netcalc.cli.backward import backward_lines, gradient_tensors, with_labels
    from netcalc.cli.written import save_tensors
    from netcalc.engine.gradients import gradients
    from netcalc.engine.layer_gradients import layer_gradients

    taking = with_labels(program, loss)
    arrays = read_inputs(taking, inputs or [])
    result = gradients(program, arrays, loss=loss, wrt=wrt, **arguments)
    save_tensors(gradient_tensors(result), output)
    origin = _origin(taking, arrays, weights, result.seed)
    rows = layer_gradients(program, result.parameters, result.inputs, unroll=True) if unroll else result.layers
    return backward_lines(result, rows, selection, format_, origin, wide)


def _lines(
    result: RunResult, selection: Selection, format_: options.TextFormat, origin: Sequence[str], wide: bool
) -> Iterable[str]:
    """The lines of the result in the chosen format."""
    from netcalc.cli.output import terminal_for
    from netcalc.numerics.trace import TraceRow
    from netcalc.records.run import run_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.runs import run_page

    outputs = tuple(TraceRow.of(name, "", array) for name, array in result.outputs.items())
    selected, layers = _selected(result, selection)
    match format_:
        case options.TextFormat.JSON:
            return json_lines(run_record(selected, layers))
        case options.TextFormat.CSV:
            return _csv(selected, outputs, layers)
    terminal = terminal_for(None, wide=wide)
    page = run_page(selected, outputs, origin, terminal.width, layers, len(result.trace) - len(selected.trace))
    return page_markdown(page) if format_ is options.TextFormat.MARKDOWN else page_text(page, terminal)


def _selected(result: RunResult, selection: Selection) -> tuple[RunResult, Sequence[LayerTime]]:
    """The result with the selected traced tensors, and the selected layers of its profile."""
    from dataclasses import replace

    from netcalc.render.selection import keys_of

    if result.profile is not None:
        return result, selection.apply(result.profile.layers, keys_of("path", "op", "seconds", "flops")).shown
    keys = keys_of("path", "op", "mean", "std", "min", "max", "absmax")
    if not result.trace:
        selection.check(keys)
        return result, ()
    return replace(result, trace=tuple(selection.apply(result.trace, keys).shown)), ()


def _csv(result: RunResult, outputs: tuple[TraceRow, ...], layers: Sequence[LayerTime]) -> Iterable[str]:
    """The layers of a profile, or the statistics of traced tensors and outputs."""
    from netcalc.render.profile import profile_data
    from netcalc.render.runs import statistics_table
    from netcalc.render.table_csv import table_csv

    table = statistics_table("path", [*result.trace, *outputs]) if result.profile is None else profile_data(layers)
    return table_csv(table)


def _origin(program: Program, arrays: Mapping[str, Any], weights: Sequence[str], seed: int) -> list[str]:
    """Lines that say which inputs and weights were drawn and which were read, and the mode unless it is the default."""
    from netcalc.analysis.notes import TRAINING_MODE
    from netcalc.analysis.walk import parameters

    drawn = [spec.name for spec in program.inputs if spec.name not in arrays and spec.default is None]
    parts = [f"{', '.join(drawn)} drawn with seed {seed}"] if drawn else []
    if weights:
        parts.append(f"weights from {', '.join(weights)}")
    elif next(parameters(program), None) is not None:
        parts.append(f"weights drawn with seed {seed}")
    origin = f"{program.name}: {'; '.join(parts) or 'nothing drawn'}"
    return [origin, TRAINING_MODE] if program.training else [origin]


def read_inputs(program: Program, texts: list[str]) -> dict[str, Any]:
    """Return the arrays of ``--input``, by name; NetcalcError with every one that is malformed or does not fit."""
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.numerics.inputs import read_input

    arrays: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            hint = "for example --input image=photo.npy"
            problems.append(Diagnostic("E502", f"--input {text}: should be name=file", hint=hint))
            continue
        try:
            arrays[name] = read_input(program, name, file)
        except NetcalcError as error:
            problems += error.diagnostics
    if problems:
        raise NetcalcError(problems)
    return arrays
