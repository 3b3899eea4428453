"""Inputs that are not given are drawn from the seed within their declared range, and weights from initialisers.

--init takes an initialiser (default, xavier_normal, kaiming_uniform(mode=fan_out, nonlinearity=relu), normal(std=0.02),
constant(0.1), zeros, …) for all parameters, or PATTERN=INITIALISER for those whose path matches.

The run is planned as a whole: fused, cut into jobs for all threads, with all weights in memory. --plan reference runs
one operation after the other by its plain kernel; so do --trace and --train. --profile says where the time of a planned
run goes, and what memory it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from netcalc.cli import options

if TYPE_CHECKING:
    from netcalc.engine.run import RunResult
    from netcalc.ir import Program


class PlanChoice(StrEnum):
    """How a run goes about its work."""

    FAST = "fast"
    REFERENCE = "reference"


Inputs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", metavar="NAME=FILE", help="An input from .npy, .npz or .safetensors."),
]
Init: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--init", metavar="[PATTERN=]INITIALISER", help="How weights are drawn; repeatable."),
]
Trace: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--trace", metavar="PATTERN", help="Statistics of what layers give, as in 'layer1.*'; repeatable."),
]
Tensors: TypeAlias = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write outputs and traced tensors to .npz or .safetensors."),
]
Plan: TypeAlias = Annotated[
    PlanChoice, typer.Option("--plan", help="Planned as a whole, or one operation after the other.")
]
Threads: TypeAlias = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="Of a planned run; all cores if not given.")
]
Profile: TypeAlias = Annotated[
    bool, typer.Option("--profile", help="Time further passes, and show where time and memory go.")
]


def command(
    spec: options.Spec,
    set_: options.Set = None,
    inputs: Inputs = None,
    weights: options.Weights = None,
    init: Init = None,
    seed: options.Seed = 0,
    trace: Trace = None,
    output: Tensors = None,
    format_: options.TextChoice = options.TextOrJson.TEXT,
    train: options.Train = False,
    plan: Plan = PlanChoice.FAST,
    threads: Threads = None,
    profile: Profile = False,
) -> None:
    """Runs the network and tells what came out; writes tensors where asked to."""
    from netcalc.cli.output import json_lines, look_for, write
    from netcalc.engine.run import forward
    from netcalc.numerics.trace import TraceRow
    from netcalc.render.progress import Progress
    from netcalc.render.runs import render_run, run_record

    program = options.read_program(spec, set_, train=train)
    given = _read_inputs(inputs or [])
    with Progress() as progress:
        result = forward(
            program,
            given,
            weights=weights,
            init=init or "default",
            seed=seed,
            trace=trace or (),
            keep=output is not None,
            progress=progress,
            plan=plan.value,
            threads=threads,
            processes=True,
            profiled=profile,
        )
    if output is not None:
        _save(result, output)
    outputs = tuple(TraceRow.of(name, "", array) for name, array in result.outputs.items())
    if format_ is options.TextOrJson.JSON:
        return write(json_lines(run_record(result, outputs, program.name, seed)))
    write([render_run(result, outputs, _origin(program, given, weights, seed), look_for(None))])
    return None


def _origin(program: Program, given: Mapping[str, Any], weights: str | None, seed: int) -> str:
    """What was drawn and what was read."""
    from netcalc.analysis.walk import parameters

    drawn = [spec.name for spec in program.inputs if spec.name not in given and spec.default is None]
    parts = [f"{', '.join(drawn)} drawn with seed {seed}"] if drawn else []
    if weights:
        parts.append(f"weights from {weights}")
    elif next(parameters(program), None) is not None:
        parts.append(f"weights drawn with seed {seed}")
    return f"{program.name}: {'; '.join(parts) or 'nothing drawn'}"


def _read_inputs(texts: list[str]) -> dict[str, Any]:
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.numerics.tensor_files import read_array

    arrays: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            hint = "for example --input image=photo.npy"
            problems.append(Diagnostic("E502", f"--input {text}: should be name=file", hint=hint))
            continue
        try:
            arrays[name] = read_array(file, name)
        except NetcalcError as error:
            problems += error.diagnostics
    if problems:
        raise NetcalcError(problems)
    return arrays


def _save(result: RunResult, file: str) -> None:
    from netcalc.numerics.tensor_files import write_tensors

    traced = {row.path: row.array for row in result.trace if row.array is not None}
    write_tensors(file, {**traced, **result.outputs})
