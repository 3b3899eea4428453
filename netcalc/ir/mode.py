"""Programs in another mode than that in which they were elaborated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.ir.build import infer
from netcalc.ir.program import Body, OpNode, Program, join
from netcalc.opdef import Context

__all__ = ["in_mode"]


def in_mode(program: Program, training: bool) -> Program:
    """Return the program in training or evaluation mode, of which every operation has checked its inputs.

    Raises:
        NetcalcError: an operation refuses its inputs in this mode, such as a batch norm with one value a channel.
    """
    if program.training is training:
        return program
    ctx = Context(training=training, dtype=program.dtype)
    problems = list(_problems(program.main, "", ctx, set()))
    if problems:
        raise NetcalcError(problems)
    return replace(program, training=training)


def _problems(body: Body, prefix: str, ctx: Context, visited: set[Body]) -> Iterator[Diagnostic]:
    """Yield the errors of the operations of each body, once, with the path of the first instance."""
    if body in visited:
        return
    visited.add(body)
    for node in body.nodes:
        if not isinstance(node, OpNode):
            yield from _problems(node.body, join(prefix, node.instance(0)), ctx, visited)
            continue
        try:
            infer(node.op, node.input_types, ctx)
        except RuleError as error:
            message = f"{join(prefix, node.name)}: {error.message}"
            yield Diagnostic(error.code, message, node.span, hint=error.hint)
