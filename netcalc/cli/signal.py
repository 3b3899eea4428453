"""Runs forward and backward with random weights and inputs, and reports for every layer the variance of activations,
the gradients, saturated and dead units, and the factors by which layers multiply them: as measured, means over --seeds,
and as predicted from the initialisers by mean-field theory, side by side. Where no rule is known, the report names the
gap. It says in words where signals vanish or explode, from which layer, why, and what would help.

The loss is the sum of all outputs with independent normal weights, so that the gradient of the outputs has an expected
norm of 1; --loss loss takes that of the spec, --loss sum the plain sum, --loss NAME that of one output. --set batch=64
gives the channels more data.

--init takes initialisers as in netcalc run. --compare-init, repeatable, compares initialisers layer by layer. --depth
joins layers into groups; --sort, --top and --filter select rows. --plot writes charts of variances and gradients as
.svg, or as .png with the extra 'plot'; --charts prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from netcalc.cli import options
from netcalc.cli.declarations import Option
from netcalc.cli.run import Init, Inputs
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.analysis.signal.report import SignalReport, SignalRow
    from netcalc.ir import Program
    from netcalc.render.selection import Selection
    from netcalc.render.text import Terminal

CompareInit: TypeAlias = Annotated[
    list[str] | None,
    Option("--compare-init", metavar="[PATTERN=]INITIALISER", help="Compare initialisers; repeatable."),
]
Seeds: TypeAlias = Annotated[
    int, Option("--seeds", metavar="N", min=1, help="Number of seeds that figures are means over.")
]
Loss: TypeAlias = Annotated[
    str | None, Option("--loss", metavar="NAME", help="random, loss, sum, or an output.", show_default="random")
]
Depth: TypeAlias = Annotated[
    int | None, Option("--depth", metavar="N", min=1, help="Join layers deeper than N parts of a path.")
]
Plot: TypeAlias = Annotated[
    str | None, Option("--plot", metavar="FILE", help="Write charts as .svg or .png, replacing the file.")
]
Charts: TypeAlias = Annotated[bool, Option("--charts", help="Print charts by depth below the table.")]


def command(
    spec: options.Spec,
    set_: options.Set = None,
    inputs: Inputs = None,
    weights: options.Weights = None,
    cast: options.Cast = False,
    init: Init = None,
    compare_init: CompareInit = None,
    seed: options.Seed = 0,
    seeds: Seeds = 3,
    loss: Loss = None,
    depth: Depth = None,
    format_: options.TextFormatChoice = options.TextFormat.TABLE,
    output: options.Output = None,
    plot: Plot = None,
    charts: Charts = False,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
    mode: options.ModeChoice = None,
    train: options.Train = False,
    dtype: options.Dtype = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
    max_work: options.MaxWork = None,
) -> None:
    """Measure and predict signals and gradients at initialisation."""
    import numpy  # noqa: F401 - first: CPython 3.11 imports it slowly below a deep stack of nested imports

    from netcalc.cli.output import terminal_for, write
    from netcalc.cli.pictures import require_picture
    from netcalc.cli.run import read_inputs

    require_picture(plot)
    program = options.read_program(
        spec, set_, training=options.is_training(mode, train), dtype=dtype, max_spec_size=max_spec_size
    )
    read = options.read_weights(weights, spec)
    options.note_downloads(read)
    selection = options.read_selection(sort, top, filter_)
    selection.check(_keys())
    settings = {
        "inputs": read_inputs(program, inputs or []),
        "weights": read or None,
        "cast": cast,
        "seed": seed,
        "seeds": seeds,
        "loss": loss,
        "max_work": max_work,
    }
    chosen = [(*(init or ()), one) for one in compare_init or ()] or [tuple(init or ("default",))]
    reports = _measured(program, chosen, depth, settings)
    terminal = terminal_for(output, wide=wide)
    if plot is not None:
        _write_charts(plot, reports, compared=bool(compare_init))
    write(_lines(reports, selection, format_, terminal, charts, compared=bool(compare_init)), output)


def _measured(
    program: Program, inits: Sequence[tuple[str, ...]], depth: int | None, settings: dict[str, Any]
) -> list[SignalReport]:
    """Measure with each of the initialisers, with a progress bar."""
    from netcalc.render.progress import Progress
    from netcalc.verification.signal import measure

    with Progress() as progress:
        return [measure(program, init=init, progress=progress, **settings).at_depth(depth) for init in inits]


def _lines(
    reports: Sequence[SignalReport],
    selection: Selection,
    format_: options.TextFormat,
    terminal: Terminal,
    charts: bool,
    *,
    compared: bool,
) -> Iterable[str]:
    from dataclasses import replace

    from netcalc.analysis.signal.report import SignalComparison
    from netcalc.records.signal import signal_comparison_record, signal_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.signal import comparison_data, comparison_page, signal_data, signal_page
    from netcalc.render.table_csv import table_csv

    selected = selection.apply(reports[0].rows, _keys())
    if compared:
        paths = {row.path for row in selected.shown}
        kept = [replace(report, rows=tuple(row for row in report.rows if row.path in paths)) for report in reports]
        comparison = SignalComparison(tuple(kept))
        match format_:
            case options.TextFormat.JSON:
                return json_lines(signal_comparison_record(comparison), "reports")
            case options.TextFormat.CSV:
                return table_csv(comparison_data(comparison))
        weighted = [row.path for row in selected.shown if row.weighted or selection.active]
        page = comparison_page(comparison, weighted or [row.path for row in selected.shown], charts=charts)
    else:
        match format_:
            case options.TextFormat.JSON:
                return json_lines(signal_record(reports[0], selected.shown), "layers")
            case options.TextFormat.CSV:
                return table_csv(signal_data(selected.shown))
        page = signal_page(reports[0], selected.shown, len(selected.others), charts=charts)
    return page_markdown(page) if format_ is options.TextFormat.MARKDOWN else page_text(page, terminal)


def _keys() -> dict[str, Any]:
    """Columns to sort by: the name of an operation, and its measured figures."""
    from operator import attrgetter

    figures = (
        "mean",
        "variance",
        "channel_square",
        "channel_variance",
        "saturated",
        "dead",
        "gain",
        "gradient",
        "back",
    )
    return {"path": attrgetter("path"), "op": attrgetter("op")} | {name: _Figure(name) for name in figures}


class _Figure:
    """Reader of a measured figure of a row; −1 where there is none, so that it is sorted to the end."""

    def __init__(self, name: str) -> None:
        from operator import attrgetter

        self._read = attrgetter(f"measured.{name}")

    def __call__(self, row: SignalRow) -> float:
        value = self._read(row)
        return -1.0 if value is None else float(value)


def _write_charts(plot: str, reports: Sequence[SignalReport], *, compared: bool) -> None:
    """Write the charts below one another."""
    from netcalc.analysis.signal.report import SignalComparison
    from netcalc.cli.pictures import write_charts
    from netcalc.render.signal import comparison_charts, signal_charts

    charts = list(comparison_charts(SignalComparison(tuple(reports))) if compared else signal_charts(reports[0]))
    write_charts(plot, charts)
