"""The command of ``shapes``, ``params``, ``flops`` and ``summary``: one report in four views and four formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.cli import options
from netcalc.cli.options import Format
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.analysis.cost import Analysis, Row
    from netcalc.analysis.figures import Phase, View
    from netcalc.analysis.receptive_field import Fields
    from netcalc.analysis.summary import Layer, Summary
    from netcalc.cli.selection import Selection
    from netcalc.ir import Program
    from netcalc.render.text import Terminal

__all__ = ["report_command"]

#: Views without work, which need no counting convention.
_UNCOUNTED = ("shapes", "params")


class _Shown(NamedTuple):
    """The rows and columns that a report has."""

    depth: int | None
    unroll: bool
    layout: str
    receptive: Mapping[str, Fields] | None


def report_command(view: View) -> Callable[..., None]:
    """Return the command that reads a spec, analyses it and writes a view of it."""

    def command(
        spec: options.Spec,
        set_: options.Set = None,
        symbolic: options.Symbolic = None,
        unroll: options.Unroll = False,
        depth: options.Depth = None,
        layout: options.LayoutChoice = options.Layout.NCHW,
        convention: options.Convention = "netcalc",
        sort: options.Sort = None,
        top: options.Top = None,
        filter_: options.Filter = None,
        format_: options.FormatChoice = Format.TABLE,
        wide: options.Wide = False,
        output: options.Output = None,
        mode: options.ModeChoice = None,
        train: options.Train = False,
        dtype: options.Dtype = None,
        lora: options.Lora = None,
        quantize: options.Quantize = None,
        prune: options.Prune = None,
        max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
        receptive_field: options.ReceptiveField = False,
        stored: options.Stored = False,
        backward: options.Backward = False,
        training: options.Training = None,
        loss: options.BackwardLoss = None,
    ) -> None:
        from netcalc.analysis.cost import analyse
        from netcalc.cli.checkpoint import is_checkpoint, write_checkpoint
        from netcalc.cli.output import terminal_for, write

        selection = options.read_selection(sort, top, filter_)
        if view == "params" and (stored or is_checkpoint(spec)):
            _refuse_settings(spec, set_, symbolic, mode, train, dtype, lora, quantize, prune)
            return write_checkpoint(spec, selection, format_, output, wide=wide, depth=depth, unroll=unroll)
        in_training = options.is_training(mode, train, training)
        program = options.read_program(spec, set_, symbolic, in_training, dtype, max_spec_size, lora, quantize, prune)
        analysis = analyse(program, convention, backward=backward, optimizer=training, loss=loss)
        receptive, unroll = _receptive(program) if receptive_field else None, unroll or receptive_field
        shown = _Shown(depth, unroll, layout.value, receptive)
        return write(_lines(analysis, view, shown, selection, format_, terminal_for(output, wide=wide)), output)

    return _with_options_of(command, view)


def _lines(
    analysis: Analysis, view: View, shown: _Shown, selection: Selection, format_: Format, terminal: Terminal
) -> Iterable[str]:
    """Return the report in the chosen format."""
    from netcalc.render.page import page_markdown, page_text

    depth, unroll, layout, receptive = shown
    if format_ in (Format.JSON, Format.CSV):
        from netcalc.analysis.summary import summarise

        summary = _selected(summarise(analysis, depth=depth, unroll=unroll, receptive=receptive), selection, view)
        return _json(summary, view) if format_ is Format.JSON else _csv(summary, view, layout)
    if format_ is Format.TABLE and not selection.active:
        from netcalc.render.report import tree_page

        page = tree_page(analysis, view, depth=depth, unroll=unroll, layout=layout, receptive=receptive)
        return page_text(page, terminal)
    from netcalc.render.report import list_page

    keys = _row_keys(view, analysis.phases)
    rows, others = selection.apply(analysis.rows(depth=depth, unroll=unroll), keys, _names)
    text = format_ is not Format.MARKDOWN
    page = list_page(analysis, view, rows, others, layout=layout, by_operation=text, receptive=receptive)
    return page_text(page, terminal) if text else page_markdown(page)


def _with_options_of(command: Callable[..., None], view: View) -> Callable[..., None]:
    """Return a command without the options that a view does not have."""
    known = signature(command, eval_str=True)
    absent = {*(["convention"] if view in _UNCOUNTED else []), *(["receptive_field"] if view != "shapes" else [])}
    absent |= {"stored"} if view != "params" else set()
    absent |= {"backward", "training", "loss"} if view in _UNCOUNTED else set()
    kept = [option for name, option in known.parameters.items() if name not in absent]
    command.__dict__["__signature__"] = known.replace(parameters=kept)
    return command


def _refuse_settings(checkpoint: str, *given: object) -> None:
    """Raise NetcalcError (E502) if options of a spec are given with a checkpoint."""
    if any(given):
        from netcalc.diagnostics import Diagnostic, NetcalcError

        options_of = "--set, --symbolic, --mode, --train, --dtype, --lora, --quantize and --prune"
        message = f"{options_of} are for a spec, not for a checkpoint"
        hint = f"`netcalc verify SPEC --weights {checkpoint}` compares it with a spec"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))


def _receptive(program: Program) -> Mapping[str, Fields]:
    from netcalc.analysis.receptive_field import receptive_fields

    return receptive_fields(program)


def _names(row: Row | Layer) -> tuple[str, str, str]:
    """Return the names that ``--filter`` matches: the path of the first instance, that of all, the operation."""
    return row.path, row.title, row.op


def _selected(summary: Summary, selection: Selection, view: View) -> Summary:
    """The summary with the selected layers; its totals are those of the network."""
    if not selection.active:
        return summary
    from dataclasses import replace

    return replace(
        summary, layers=tuple(selection.apply(summary.layers, _layer_keys(view, summary.phases), _names).shown)
    )


def _row_keys(view: View, phases: frozenset[Phase]) -> Mapping[str, Callable[[Row], Any]]:
    """Sort keys of rows: path, operation, every figure of one instance, number of instances, and share of them all."""
    from netcalc.analysis.figures import FIGURES
    from netcalc.render.layers import shared_figure

    keys: dict[str, Callable[[Row], Any]] = {"path": lambda row: row.path, "op": lambda row: row.op}
    for name, figure in ((name, figure) for name, figure in FIGURES.items() if figure.phase in phases):
        keys[name] = lambda row, figure=figure: figure.of(row.cost)  # type: ignore[misc]
    shared = shared_figure(view, phases)
    return keys | {"repeat": lambda row: row.repeat, "share": lambda row: shared.of(row.total)}


def _layer_keys(view: View, phases: frozenset[Phase]) -> Mapping[str, Callable[[Layer], Any]]:
    from netcalc.analysis.figures import FIGURES
    from netcalc.render.layers import shared_figure

    keys: dict[str, Callable[[Layer], Any]] = {"path": lambda layer: layer.path, "op": lambda layer: layer.op}
    for name, figure in ((name, figure) for name, figure in FIGURES.items() if figure.phase in phases):
        keys[name] = lambda layer, figure=figure: figure.of(layer)  # type: ignore[misc]
    shared = shared_figure(view, phases)
    return keys | {"repeat": lambda layer: layer.repeat, "share": lambda layer: shared.of(layer) * layer.repeat}


def _json(summary: Summary, view: View) -> Iterable[str]:
    from netcalc.cli.output import json_lines
    from netcalc.records.summary import summary_record

    return json_lines(summary_record(summary, view), rows="layers")


def _csv(summary: Summary, view: View, layout: str) -> Iterable[str]:
    from netcalc.render.report import layer_data
    from netcalc.render.table_csv import table_csv

    return table_csv(layer_data(summary.layers, view, layout, summary.phases))
