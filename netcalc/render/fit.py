"""The page of ``fit``: the answer first, then what decides it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netcalc.analysis.fit.edge import Edge
from netcalc.analysis.fit.report import FitReport, Memory, SplitFit
from netcalc.render.numbers import bytes_text, exact, seconds_text
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table

#: Numbers of a split that differ between those that are tried.
_KINDS = ("tp", "pp", "dp", "ep", "sp", "zero", "micro_batches")
#: Other forms of the weights that a page shows.
_FORMS = 4


class _Fit(Presentation[FitReport]):
    selected_list = ""
    listed = "schemes"

    def page(self, result: FitReport, rows: Selected[object], view: View) -> Page:
        """The answer, the memory that it follows from, edges and forms of weights, or devices, and the assumptions."""
        yield Paragraph([_answer(result), _sum(result), *_shortfall(result), *_edges(result)])
        if result.devices:
            yield _devices(result)
        if result.splits:
            yield _splits(result)
        if result.schemes:
            yield _schemes(result)
        yield Paragraph([Line(f": {'; '.join(result.assumptions)}", "assumed")])

    def data(self, result: FitReport, rows: Selected[object], view: View) -> Table:
        """Devices or splits, or else the forms of the weights, the first of which is the model's own, for CSV."""
        if result.devices:
            return _devices(result)
        if result.split is not None:
            columns = [Column(title) for title in (*_KINDS, "devices", "total", "fits", "sent", "bubble", "seconds")]
            return Table(columns, [Row(_cells(result, fit)) for fit in result.splits or (result.split,)])
        columns = [Column(title) for title in ("weights", "bytes", "total", "fits", "length")]
        own = [result.stored_as or result.dtype, result.need.of("weights"), result.need.total, result.fits]
        first = Row([*own, None if result.largest_length is None else result.largest_length.number])
        others = [
            Row([form.scheme, form.weights, form.total, form.fits, form.length.number if form.length else None])
            for form in result.schemes
        ]
        return Table(columns, [first, *others])


PRESENTATIONS = {"FitReport": _Fit()}


def _cells(report: FitReport, fit: SplitFit) -> list[Any]:
    """The figures of a split; the one that needs least is there, too, if none fits."""
    numbers = fit.split._asdict()
    return [
        *(numbers[kind] for kind in _KINDS),
        fit.devices,
        fit.total,
        fit in report.splits,
        fit.sent,
        fit.bubble,
        fit.seconds,
    ]


def _answer(report: FitReport) -> Line:
    """The first line: yes or no, with the margin; without a device what is needed."""
    form = report.precision or report.stored_as or report.dtype
    sizes = _sizes(report)
    if report.memory is None or report.margin is None:
        return Line(f" {report.spec} in {form} needs {bytes_text(report.need.total)}{sizes}", "")
    one = f"{report.spec} in {form} fits {_devices_text(report)}" if report.fits else ""
    if report.fits:
        return Line(f": {one} with {bytes_text(report.margin)} to spare{sizes}", "yes")
    short = bytes_text(-report.margin)
    return Line(f": {report.spec} in {form} lacks {short} on {_devices_text(report)}{sizes}", "no")


def _devices_text(report: FitReport) -> str:
    """The devices, with the split over several."""
    memory = report.memory
    assert memory is not None
    if report.split is None:
        return memory.title
    return f"{exact(memory.number)} {memory.title} ({report.split.options})"


def _sum(report: FitReport) -> Line:
    """The kinds of memory, which add up to what is needed, and what there is."""
    parts = " + ".join(f"{part.name} {bytes_text(part.bytes)}" for part in report.need.parts)
    there = "" if report.memory is None else f", of {_budget(report.memory)}"
    return Line(f" {parts} = {bytes_text(report.need.total)}{there}", "needs")


def _sizes(report: FitReport) -> str:
    """The workload in words."""
    workload = report.workload
    parts = [f"batch {exact(workload.batch)}"] if workload.batch is not None else []
    parts += [f"{exact(workload.length)} positions"] if workload.length is not None else []
    parts += [str(workload.phase)] if workload.phase is not None else []
    return f": {', '.join(parts)}" if parts else ""


def _budget(memory: Memory) -> str:
    text = bytes_text(memory.budget)
    return f"{text}: {bytes_text(memory.bytes)} less {bytes_text(memory.reserve)}" if memory.reserve else text


def _shortfall(report: FitReport) -> Iterator[Line]:
    """The bytes that are missing for the weights alone."""
    memory, weights = report.memory, report.need.of("weights")
    if memory is not None and weights > (room := memory.budget if memory.flash is None else memory.flash):
        yield Line(f" {bytes_text(weights - room)} more than there is", "the weights alone are")


def _edges(report: FitReport) -> Iterator[Line]:
    """The largest batch and the largest length that fit, and what would make the workload fit."""
    workload = report.workload
    if report.largest_batch is not None and (report.largest_batch.number != 0 or report.largest_length is None):
        at = f" at {exact(workload.length)} positions" if workload.length is not None else ""
        yield Line(f": {_edge(report.largest_batch)}{at}{_end(report.largest_batch)}", "largest batch")
    if report.largest_length is not None:
        at = f" at batch {exact(workload.batch)}" if workload.batch is not None else ""
        yield Line(f": {_edge(report.largest_length)}{at}{_end(report.largest_length)}", "largest length")
    if report.fewest is not None:
        split = f", {report.fewest.options}" if report.fewest.options else ""
        yield Line(f": {exact(report.fewest.devices)}{split}", "fewest devices")
    if report.placement is not None:
        device, host = bytes_text(report.placement.device), bytes_text(report.placement.host)
        yield Line(f": {report.placement.options}, {device} on the device and {host} there", "with the host")


def _edge(edge: Edge) -> str:
    return "any number" if edge.number is None else exact(edge.number)


def _end(edge: Edge) -> str:
    """The reason of an edge that is not that of the memory."""
    return f"; the network, not the memory, is the limit: {edge.reason}" if edge.reason else ""


def _splits(report: FitReport) -> Table:
    columns = [Column("split", "path"), Column("fullest device", "bytes"), Column("sent", "bytes")]
    columns += [Column("bubble", "text"), Column("bound of a step", "text")]
    rows = [
        Row(
            [
                fit.options,
                fit.total,
                fit.sent,
                "" if fit.bubble is None else f"{100 * fit.bubble:.0f} %",
                "" if fit.seconds is None else seconds_text(fit.seconds),
            ]
        )
        for fit in report.splits[:_FORMS]
    ]
    return Table(columns, rows, omitted=len(report.splits) - len(rows))


def _schemes(report: FitReport) -> Table:
    columns = [Column("other forms of the weights", "path"), Column("weights", "bytes"), Column("in all", "bytes")]
    columns += [Column("fits", "text"), Column("largest length", "text")]
    fitting = [form for form in report.schemes if form.fits]
    shown = (fitting or report.schemes)[:_FORMS]
    rows = [
        Row(
            [
                form.scheme,
                form.weights,
                form.total,
                _yes(form.fits),
                _edge(form.length) if form.length else "",
            ]
        )
        for form in shown
    ]
    return Table(columns, rows, omitted=len(report.schemes) - len(shown))


def _yes(fits: bool) -> str:
    return "yes" if fits else "no"


def _devices(report: FitReport) -> Table:
    columns = [Column("device", "path"), Column("memory", "bytes"), Column("fits", "text"), Column("to spare", "bytes")]
    columns += [Column("devices by memory", "total")]
    rows = [
        Row([fit.memory.title, fit.memory.bytes, _yes(fit.fits), fit.margin, fit.devices]) for fit in report.devices
    ]
    return Table(columns, rows)
