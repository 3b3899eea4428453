"""``netcalc run --backward``: gradients of a loss, by layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcalc.cli import options
from netcalc.diagnostics import Diagnostic, NetcalcError

if TYPE_CHECKING:
    from netcalc.engine.gradients import GradientResult
    from netcalc.engine.layer_gradients import LayerGradient
    from netcalc.ir import Program
    from netcalc.render.selection import Selection

__all__ = ["backward_lines", "gradient_tensors", "require_backward", "require_forward", "with_labels"]


def require_backward(given: Mapping[str, object]) -> None:
    """Raise NetcalcError (E502) for options that only a backward pass has, by name, if one of them is given."""
    _refuse(given, "{name} is an option of a backward pass", "add --backward")


def require_forward(given: Mapping[str, object]) -> None:
    """Raise NetcalcError (E502) for options that a backward pass lacks, by name, if one of them is given."""
    _refuse(given, "--backward and {name} do not go together", "a backward pass runs the reference kernels")


def _refuse(given: Mapping[str, object], message: str, hint: str) -> None:
    for name, value in given.items():
        if value:
            raise NetcalcError(Diagnostic("E502", message.format(name=name), hint=hint))


def with_labels(program: Program, loss: str | None) -> Program:
    """Return the program with the inputs of its loss, if that loss is used."""
    from netcalc.ir.loss import LOSS, with_loss

    return with_loss(program) if program.loss is not None and loss in (None, LOSS) else program


def backward_lines(
    result: GradientResult,
    rows: Sequence[LayerGradient],
    selection: Selection,
    format_: options.TextFormat,
    origin: Sequence[str],
    wide: bool,
) -> Iterable[str]:
    """Return the lines of a backward pass in the chosen format."""
    from netcalc.cli.output import terminal_for
    from netcalc.records.gradients import gradients_record
    from netcalc.render.gradients import gradients_page, gradients_table
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.selection import keys_of
    from netcalc.render.table_csv import table_csv

    keys = keys_of("path", "op", "instances", "elements", "norm", "least", "greatest", "absmax")
    shown = selection.apply(rows, keys).shown
    match format_:
        case options.TextFormat.JSON:
            return json_lines(gradients_record(result, shown))
        case options.TextFormat.CSV:
            return table_csv(gradients_table(shown, complete=True))
    page = gradients_page(result, shown, origin, len(rows) - len(shown))
    return (
        page_markdown(page)
        if format_ is options.TextFormat.MARKDOWN
        else page_text(page, terminal_for(None, wide=wide))
    )


def gradient_tensors(result: GradientResult) -> dict[str, Any]:
    """Return the gradients of parameters by path and of inputs by name, as ``inputs.NAME`` where a parameter has it."""
    tensors: dict[str, Any] = dict(result.parameters)
    for name, gradient in result.inputs.items():
        tensors[f"inputs.{name}" if name in tensors else name] = gradient
    return tensors
