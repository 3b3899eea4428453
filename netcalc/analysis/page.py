"""The result of ``netcalc report``: what the page of a network, or of two side by side, has in its sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from netcalc.analysis.compare import Comparison
from netcalc.analysis.explain import Explanation
from netcalc.analysis.graph import GraphReport
from netcalc.analysis.memory_report import MemoryReport
from netcalc.analysis.opened import OPENED, Opened
from netcalc.analysis.signal.report import SignalReport
from netcalc.analysis.summary import Summary
from netcalc.analysis.time_report import TimeReport
from netcalc.diagnostics import Diagnostic
from netcalc.results import NESTED, Entry, Real, Result, recorded

#: Records whose figures the workings of a page open.
_OPENED = ("summary", "memory", "time")


@dataclass(frozen=True, slots=True)
class Workings:
    """Explanations of the figures that a page shows, each a record of its own."""

    total: Annotated[Explanation, NESTED]
    """Working of the totals."""
    layers: Mapping[str, Annotated[Explanation, NESTED]]
    """Workings of the figures of layers by path; beside another network also of those that are compared."""
    blocks: Mapping[str, Annotated[Explanation, NESTED]]
    """Workings of the figures of blocks in the graph by path."""
    operations: Mapping[str, Annotated[Explanation, NESTED]]
    """Workings of the sums over all executions of an operation, of those in which two networks differ."""
    memory: Annotated[Explanation, NESTED]
    """Working of weights, caches, activations and their total."""
    split: tuple[Annotated[Explanation, NESTED], ...]
    """Workings of a device of each stage of a split, and of what the fullest sends; empty without a split."""
    time: Annotated[Explanation, NESTED] | None
    """Working of the bound of the time; null without a device."""
    times: Mapping[str, Annotated[Explanation, NESTED]]
    """Workings of the times of layers by path; empty without a device."""
    signals: tuple[Annotated[Explanation, NESTED], ...]
    """Workings of the signals of layers, in their order; empty unless signals were asked for."""


@recorded(
    *("title", "about", "source", "settings", "counted_by", "summary", "shares", "graph", "memory"),
    *(Entry("time", optional=True), Entry("signal", optional=True), "workings"),
)
@dataclass(frozen=True, slots=True)
class NetworkPage:
    """The sections on one network."""

    title: str
    """Name of the spec, of two equal ones with the settings in which they differ."""
    about: str
    source: str
    """Source of the network."""
    settings: Mapping[str, str]
    """Options and settings that were asked for, as they are written."""
    counted_by: str
    """The counting convention in words."""
    summary: Annotated[Summary, NESTED]
    """Totals and layers."""
    shares: Mapping[str, tuple[Real, ...]]
    """Share of each layer, all its instances, of the totals by figure, in the order of the layers."""
    graph: Annotated[GraphReport, NESTED]
    """The architecture, with all blocks opened."""
    memory: Annotated[MemoryReport, NESTED]
    """Weights, caches and activations."""
    workings: Workings
    time: Annotated[TimeReport, NESTED] | None = None
    """Bound of the time on a device, if one was asked for."""
    signal: Annotated[SignalReport, NESTED] | None = None
    """Signals at initialization, if they were asked for."""

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the spec and its settings."""
        return self.summary.analysis.program.warnings


@recorded("networks", Entry("comparison", optional=True), "opened", name="report")
@dataclass(frozen=True, slots=True)
class ReportPage(Result):
    """The page of a network, or of two side by side: the records of other verbs, and the workings of their figures."""

    networks: tuple[NetworkPage, ...]
    comparison: Annotated[Comparison, NESTED] | None = None
    """Comparison of two networks."""

    @property
    def opened(self) -> Mapping[str, tuple[Opened, ...]]:
        """Places where the workings open the fields of records, by the name of the record."""
        return {name: OPENED[name] for name in _OPENED}

    def to_page(self) -> str:
        """Return the page as a document of HTML, which needs no other file and no network."""
        from importlib import import_module

        page: str = import_module("netcalc.render.page_document").page_document(self)
        return page

    def save(self, path: str | Path) -> None:
        """Write the page, replacing the file; NetcalcError (E502) if it cannot be written."""
        from netcalc.files import write_file

        write_file([self.to_page().encode()], str(path))
