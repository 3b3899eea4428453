"""Shapes, types, parameter sizes and the kernels' own tallies of work are compared with the prediction, layer by layer.

With --weights nothing is run: the names, shapes and types in the file's header are held against the spec.  The exit
code is 1 where anything differs.
"""

from __future__ import annotations

import typer

from netcalc.cli import options


def command(
    spec: options.Spec,
    set_: options.Set = None,
    weights: options.Weights = None,
    seed: options.Seed = 0,
    format_: options.TextChoice = options.TextOrJson.TEXT,
    output: options.Output = None,
    train: options.Train = False,
) -> None:
    """Runs and checks the network, or checks a file of weights alone."""
    from netcalc.cli import EXIT_CHECK
    from netcalc.cli.output import json_lines, look_for, write

    program = options.read_program(spec, set_, train=train)
    as_json = format_ is options.TextOrJson.JSON
    look = look_for(output)
    if weights is not None:
        from netcalc.numerics.parameters import check_weights
        from netcalc.render.runs import render_weights, weights_record

        fit = check_weights(program, weights)
        write(
            json_lines(weights_record(fit, program.name), "mismatches")
            if as_json
            else [render_weights(fit, program.name, look)],
            output,
        )
        ok = fit.ok
    else:
        from netcalc.render.progress import Progress
        from netcalc.render.runs import render_verification, verification_record
        from netcalc.verification.verify import verify

        with Progress() as progress:
            report = verify(program, seed=seed, progress=progress)
        write(
            json_lines(verification_record(report, program.name), "checks")
            if as_json
            else [render_verification(report, program.name, look)],
            output,
        )
        ok = report.ok
    if not ok:
        raise typer.Exit(EXIT_CHECK)
