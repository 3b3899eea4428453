"""Presentations of results: as text, Markdown, CSV, HTML and JSON, with the rows that a selection leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.render.cells import data_writer
from netcalc.render.page import Page, document_html, page_html, page_markdown, page_text
from netcalc.render.selection import Selected, Selection
from netcalc.render.table import Table
from netcalc.render.text import PLAIN, Terminal, terminal_of

if TYPE_CHECKING:
    from netcalc.render.plot import Drawing

R = TypeVar("R")

#: Results that have charts, in words.
_WITH_CHARTS = (
    "summary, params, flops, compare, scaling, sweep, memory of more than a layer, time, signal, train, "
    "compute_optimal, and run with traced tensors that are kept"
)

#: Modules of this package with the presentation of a type of results, in ``PRESENTATIONS``.
_MODULES = {
    "Agreement": "agreement",
    "BudgetReport": "budget",
    "CheckReport": "checks",
    "Checkpoint": "checkpoints",
    "Comparison": "compare",
    "ComputeOptimal": "laws",
    "Diagnosis": "reported",
    "Explanation": "explanation",
    "Exported": "exported",
    "FitReport": "fit",
    "Formulas": "formulas",
    "GradientResult": "gradients",
    "GraphReport": "graphs",
    "MemoryReport": "memory",
    "MemoryTable": "memory_table",
    "ModelTypes": "model_types",
    "NetworkReconciliation": "differences",
    "OperationList": "operation_pages",
    "OperationPage": "operation_pages",
    "PipelineSummary": "pipelines",
    "Profile": "profile",
    "Reconciliation": "reconcile",
    "ReportPage": "report_page",
    "ReferenceReport": "reference_outputs",
    "Reproduction": "reproduction",
    "RoundingResult": "rounding",
    "RunResult": "runs",
    "ScalingReport": "scaling",
    "SignalComparison": "signal",
    "SignalReport": "signal",
    "Solution": "solution",
    "SpecList": "specs",
    "SpecReference": "specs",
    "Summary": "report",
    "Sweep": "sweep",
    "TimeReport": "time",
    "TrainingComparison": "training_comparison",
    "TrainingResult": "training",
    "VerifyReport": "verification",
    "WeightsReport": "verification",
}


class View(NamedTuple):
    """Wishes of a user about the page of a result.

    Attributes:
        selection: the rows.
        format: ``"table"``, ``"markdown"``, ``"csv"``, ``"json"`` or ``"html"``.
        layout: order of the axes of images, ``"nchw"`` or ``"hwc"``.
        all: True to show what does not differ, too.
        charts: True to show charts.
        columns: names of the columns of layers; those of the view if there are none.
        width: columns of the terminal; None for a file or a pipe.
    """

    selection: Selection = Selection()
    format: str = "table"
    layout: str = "nchw"
    all: bool = False
    charts: bool = False
    columns: tuple[str, ...] = ()
    width: int | None = None

    @property
    def in_full(self) -> bool:
        """True if rows have all fields, for programs."""
        return self.format in ("json", "csv")

    @property
    def is_tree(self) -> bool:
        """True if all rows are shown, as a tree."""
        return self.format in ("table", "html") and not self.selection.active


class Presentation(Generic[R]):
    """Presentation of a type of results: its rows, and what is written of a result with some of its rows."""

    #: List in the record that has the selected rows; empty if there are none.
    selected_list = "layers"
    #: List in the record whose items have a line each.
    listed: str = "layers"
    #: Columns to sort by that all results have.
    columns: Mapping[str, Callable[[Any], Any]] = {}
    #: Writers of further formats, of a result and its selected rows.
    formats: Mapping[str, Callable[[Any, Selected[Any]], Iterable[str]]] = {}
    #: Names of a row that patterns are matched with.
    names: Callable[[Any], Any] = staticmethod(attrgetter("path", "op"))

    def listed_in(self, result: R) -> str:
        """Return the list in the record of a result whose items have a line each."""
        return self.listed

    def rows(self, result: R, view: View) -> Iterable[Any]:
        """Return the rows from which users select: by default those that the record has."""
        rows: Iterable[Any] = getattr(result, self.selected_list) if self.selected_list else ()
        return rows

    def keys(self, result: R) -> Mapping[str, Callable[[Any], Any]]:
        """Return the columns to sort by."""
        return self.columns

    def page(self, result: R, rows: Selected[Any], view: View) -> Page:
        """Return the page."""
        raise NotImplementedError

    def markdown(self, result: R, rows: Selected[Any], view: View) -> Iterable[str]:
        """Return the lines of Markdown."""
        return page_markdown(self.page(result, rows, view))

    def data(self, result: R, rows: Selected[Any], view: View) -> Table:
        """Return the table for CSV."""
        raise NotImplementedError

    def recorded(self, result: R, rows: Selected[Any]) -> Mapping[str, Any]:
        """Return the fields of the record that depend on the selection."""
        return {self.selected_list: rows.shown} if self.selected_list else {}

    def record(self, result: R, rows: Selected[Any]) -> Mapping[str, Any]:
        """Return the JSON record, with the selected rows."""
        from netcalc.records.writing import record

        return record(result, **self.recorded(result, rows))

    def charts(self, result: R, rows: Selected[Any]) -> Iterable[Drawing]:
        """Return the charts that a picture has."""
        return ()

    def selected(self, result: R, view: View) -> Selected[Any]:
        """Return the rows that the selection leaves, and the others.

        Raises:
            NetcalcError: E502 for an unknown column, E503 for a pattern that matches nothing.
        """
        return view.selection.apply(self.rows(result, view), self.keys(result), self.names)


def presentation_of(result: Any) -> Presentation[Any]:
    """Return the presentation of a result; TypeError if there is none."""
    for base in type(result).__mro__:
        if base.__name__ in _MODULES:
            return _presentation(base.__name__)
    raise TypeError(f"{type(result).__name__} is no result that can be printed")


def _presentation(name: str) -> Presentation[Any]:
    presentation: Presentation[Any] = import_module(f"netcalc.render.{_MODULES[name]}").PRESENTATIONS[name]
    return presentation


def require_column(name: str, selection: Selection) -> None:
    """Check a selection before there is a result.

    Args:
        name: name of the type of results.
        selection: the selection.

    Raises:
        NetcalcError: E502 if the results have no column that the selection sorts by.
    """
    selection.check(_presentation(name).columns)


def record(result: Any, view: View | None = None) -> Mapping[str, Any]:
    """Return the JSON record of a result with the selected rows."""
    presentation, view = presentation_of(result), view or View(format="json")
    return presentation.record(result, presentation.selected(result, view))


def lines(result: Any, view: View, terminal: Terminal = PLAIN) -> Iterable[str]:
    """Return the lines of a result in the format of the view."""
    presentation = presentation_of(result)
    rows = presentation.selected(result, view)
    if view.format in presentation.formats:
        return presentation.formats[view.format](result, rows)
    match view.format:
        case "json":
            from netcalc.render.json_lines import json_lines

            return json_lines(presentation.record(result, rows), presentation.listed_in(result))
        case "csv":
            from netcalc.render.table_csv import table_csv

            return table_csv(presentation.data(result, rows, view))
        case "markdown":
            return presentation.markdown(result, rows, view)
        case "html":
            return document_html(presentation.page(result, rows, view))
    return page_text(presentation.page(result, rows, view), terminal)


def text(result: Any, width: int | None = None) -> Iterable[str]:
    """Return the page of a result in lines of a width, or in full."""
    return lines(result, View(width=width), Terminal(width=width))


def terminal_width() -> int | None:
    """Return the width of the standard output; None for a file or a pipe."""
    return None if sys.stdout is None else terminal_of(sys.stdout).width


def columns(result: Any) -> dict[str, list[Any]]:
    """Return the rows of a result by column, as CSV has them; None for no value."""
    presentation, view = presentation_of(result), View(format="csv")
    table = presentation.data(result, presentation.selected(result, view), view)
    writers = [data_writer(column) for column in table.columns]
    return {
        column.key or column.title: [write(row.cells[place]) for row in table.rows]
        for place, (column, write) in enumerate(zip(table.columns, writers, strict=True))
    }


def charts(result: Any, view: View | None = None) -> Sequence[Drawing]:
    """Return the charts of a result, with the rows of a view.

    Raises:
        NetcalcError: E502 for a result that has none, or not with symbolic sizes.
    """
    presentation, view = presentation_of(result), view or View()
    if drawn := [*presentation.charts(result, presentation.selected(result, view))]:
        return drawn
    if symbolic := getattr(result, "symbolic", ()):
        message = f"charts need numbers in place of {', '.join(symbolic)}"
        raise NetcalcError(Diagnostic("E502", message, hint="leave out --symbolic, or give sizes by --set"))
    message = f"this {type(result).__name__} has no charts"
    raise NetcalcError(Diagnostic("E502", message, hint=f"charts have {_WITH_CHARTS}"))


def plot(result: Any, path: str | Path, view: View | None = None) -> None:
    """Write the charts of a result, with the rows of a view, to an .svg or .png file; raises as :func:`charts` does."""
    from netcalc.render.plot.files import require_picture, write_charts

    require_picture(str(path))
    write_charts(str(path), charts(result, view))


def html(result: Any) -> str:
    """Return the page of a result as an element."""
    presentation, view = presentation_of(result), View()
    return page_html(presentation.page(result, presentation.selected(result, view), view))
