"""Formula, substitution, result and source, step by step; for example `netcalc explain resnet34 conv1`."""

from __future__ import annotations

from typing import Annotated

import typer

from netcalc.cli import options


def command(
    spec: options.Spec,
    path: Annotated[str | None, typer.Argument(help="A layer or block, such as layer1.0.conv1.")] = None,
    set_: options.Set = None,
    symbolic: options.Symbolic = None,
    convention: options.Convention = "netcalc",
    format_: options.TextChoice = options.TextOrJson.TEXT,
    output: options.Output = None,
    train: options.Train = False,
) -> None:
    """Explains one layer, a block, or the whole network."""
    from netcalc.analysis.cost import analyse
    from netcalc.analysis.explain import explain
    from netcalc.cli.output import json_lines, look_for, write
    from netcalc.render.explanation import explanation_record, render_explanation

    program = options.read_program(spec, set_, symbolic, train)
    explanation = explain(program, path, analyse(program, convention).convention)
    if format_ is options.TextOrJson.JSON:
        return write(json_lines(explanation_record(explanation, program.name)), output)
    return write([render_explanation(explanation, program.name, look_for(output))], output)
