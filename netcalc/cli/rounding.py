"""``netcalc run --quantize`` and ``--prune``: errors of rounded and pruned parameters, by output and layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcalc.cli import options
from netcalc.diagnostics import Diagnostic, NetcalcError

if TYPE_CHECKING:
    from netcalc.engine.rounding import RoundingResult
    from netcalc.ir import Program
    from netcalc.render.selection import Selection

__all__ = ["check_selection", "refuse", "require_rounding", "rounding_lines", "rounding_result"]

_KEYS = (
    *("path", "op", "instances", "elements", "bits", "weight_error"),
    *("error", "least", "greatest", "max_error", "decibels"),
)


def refuse(given: Mapping[str, object]) -> None:
    """Raise NetcalcError (E502) for options that a comparison with full precision lacks, by name, if one is given."""
    for name, value in given.items():
        if value:
            message = f"{name} does not go with --quantize and --prune"
            raise NetcalcError(Diagnostic("E502", message, hint="run the network without them too"))


def require_rounding(given: Mapping[str, object]) -> None:
    """Raise NetcalcError (E502) for options that only a comparison with full precision has, if one is given."""
    for name, value in given.items():
        if value:
            message = f"{name} is an option of a comparison with full precision"
            raise NetcalcError(Diagnostic("E502", message, hint="add --quantize or --prune"))


def check_selection(selection: Selection) -> None:
    """Raise NetcalcError (E502) if ``--sort`` names no column of the layers."""
    selection.check(_KEYS)


def rounding_result(program: Program, arrays: Mapping[str, Any], arguments: Mapping[str, Any]) -> RoundingResult:
    """Run both networks with a progress bar."""
    from netcalc.engine.rounding import rounding_errors
    from netcalc.render.progress import Progress

    with Progress() as progress:
        return rounding_errors(program, arrays, progress=progress, **arguments)


def rounding_lines(
    result: RoundingResult,
    selection: Selection,
    format_: options.TextFormat,
    origin: Sequence[str],
    *,
    wide: bool,
    unroll: bool,
    depth: int | None,
) -> Iterable[str]:
    """Return the lines of a comparison with full precision in the chosen format."""
    from netcalc.cli.output import terminal_for
    from netcalc.records.rounding import rounding_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.rounding import layer_errors_table, rounding_page
    from netcalc.render.selection import keys_of
    from netcalc.render.table_csv import table_csv

    rows = result.layers(depth=depth, unroll=unroll)
    shown = selection.apply(rows, keys_of(*_KEYS)).shown
    match format_:
        case options.TextFormat.JSON:
            return json_lines(rounding_record(result, shown))
        case options.TextFormat.CSV:
            return table_csv(layer_errors_table(shown, complete=True))
    page = rounding_page(result, shown, origin, len(rows) - len(shown))
    if format_ is options.TextFormat.MARKDOWN:
        return page_markdown(page)
    return page_text(page, terminal_for(None, wide=wide))
