"""Losses as part of a program."""

from __future__ import annotations

from dataclasses import replace

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir.program import CallNode, Loss, Program, Value

#: The name of the loss among the outputs.
LOSS = "loss"


def with_loss(program: Program, loss: Loss | None) -> Program:
    """Return the program with a loss behind its own layers.

    The inputs of the loss are the last inputs, and the scalar is the last output, called ``loss``.  The layers of the
    loss are below the path ``loss``, or ``loss_1`` and so on if the network has a layer of that name.

    Raises:
        NetcalcError: E502 if there is no loss.
    """
    if loss is None:
        raise NetcalcError(no_loss(program.name))
    main = program.main
    inputs = {spec.name: Value(spec.type, spec.name) for spec in loss.inputs}
    values = {**dict(zip(program.output_names, main.outputs, strict=True)), **inputs}
    (result,) = loss.body.outputs
    value = Value(result.type, LOSS, result.span)
    call = CallNode(_free_path(program), loss.body, tuple(values[name] for name in loss.sources), (value,))
    body = replace(
        main, inputs=(*main.inputs, *inputs.values()), nodes=(*main.nodes, call), outputs=(*main.outputs, value)
    )
    return replace(
        program,
        main=body,
        inputs=(*program.inputs, *loss.inputs),
        output_names=(*program.output_names, LOSS),
        assumptions=tuple(dict.fromkeys((*program.assumptions, *loss.assumptions))),
    )


def no_loss(spec: str, hint: str = "a spec declares one under `loss`") -> Diagnostic:
    """Return the error for a spec without loss."""
    return Diagnostic("E502", f"the spec {spec!r} has no loss", hint=hint)


def _free_path(program: Program) -> str:
    """Return a path that no layer of the network has."""
    taken = {node.name.partition(".")[0] for node in program.main.nodes}
    number = 0
    while (path := f"{LOSS}_{number}" if number else LOSS) in taken:
        number += 1
    return path
