"""Pages of forward passes: statistics of traced tensors and outputs, numbers of small outputs, memory or profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from netcalc.engine.profile import LayerTime
from netcalc.engine.run import RunResult
from netcalc.numerics.trace import TraceRow
from netcalc.render.joined import joined_rows
from netcalc.render.numbers import bytes_text
from netcalc.render.origin import origin_lines
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.plot import Drawing
from netcalc.render.presentations import Presentation, View
from netcalc.render.profile import PRESENTATIONS as PROFILE
from netcalc.render.profile import profile_data, profile_page
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import ALWAYS, Column, Row, Table
from netcalc.render.traced import drawings
from netcalc.render.values import values

#: Statistics with the priorities of their columns.
_STATISTICS = {"mean": ALWAYS, "std": 50, "min": 40, "max": 40}


class _Run(Presentation[RunResult]):
    listed = ""
    columns = keys_of("path", "op", "mean", "std", "min", "max", "absmax")

    def rows(self, result: RunResult, view: View) -> Sequence[LayerTime | TraceRow]:
        return result.trace if result.profile is None else result.profile.layers

    def keys(self, result: RunResult) -> Mapping[str, Callable[[Any], Any]]:
        return self.columns if result.profile is None else PROFILE["Profile"].columns

    def selected(self, result: RunResult, view: View) -> Selected[Any]:
        if result.profile is None and not result.trace:
            view.selection.check(self.columns)  # patterns have no rows that they could match
            return Selected(())
        return super().selected(result, view)

    def page(self, result: RunResult, rows: Selected[Any], view: View) -> Page:
        yield Paragraph([Line(text) for text in origin_lines(result)])
        if result.trace:
            yield _statistics("trace", rows.shown)._replace(omitted=len(rows.others))
        yield _statistics("output", list(joined_rows(_outputs(result))))
        whole = [*result.inputs.items(), *result.outputs.items()]
        if view.charts:
            yield from drawings(rows.shown)
        yield from values(whole, _traced(result, rows.shown), "traced tensors", view.width)
        if result.profile is not None:
            yield from profile_page(result.profile, rows.shown)
        else:
            yield Paragraph([Line("", _memory(result), "dim")])

    def charts(self, result: RunResult, rows: Selected[Any]) -> Iterable[Drawing]:
        return drawings(rows.shown) if result.profile is None else ()

    def data(self, result: RunResult, rows: Selected[Any], view: View) -> Table:
        if result.profile is not None:
            return profile_data(rows.shown)
        return _statistics("path", [*rows.shown, *_outputs(result)])

    def recorded(self, result: RunResult, rows: Selected[Any]) -> Mapping[str, Any]:
        from netcalc.records.writing import written

        if result.profile is None:
            return {"trace": rows.shown}
        return {"profile": {**written(result.profile), "layers": rows.shown}}


PRESENTATIONS = {"RunResult": _Run()}


def _traced(result: RunResult, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield small traced tensors by path, without those that are outputs."""
    if result.profile is None:
        yield from ((r.path, r.small) for r in rows if r.small is not None and r.path not in result.outputs)


def _outputs(result: RunResult) -> tuple[TraceRow, ...]:
    return tuple(TraceRow.of(name, "", array) for name, array in result.outputs.items())


def _statistics(title: str, rows: Sequence[TraceRow]) -> Table:
    """Tensors with the mean, standard deviation, minimum and maximum of their elements."""
    columns = [
        Column(title, "path", key="path"),
        Column("operation", priority=30, key="op"),
        Column("shape", "shape"),
        Column("type", priority=20, key="dtype"),
        *(Column(name, "real", priority) for name, priority in _STATISTICS.items()),
    ]
    return Table(
        columns, [Row([r.path, r.op, r.shape, r.dtype, *(getattr(r, name) for name in _STATISTICS)]) for r in rows]
    )


def _memory(result: RunResult) -> str:
    """Predicted memory in words; the reference path holds the weights of one operation at a time."""
    memory = result.memory
    part = (
        f", including {bytes_text(memory.weights)} of weights and constants"
        if result.plan == "fast" and memory.weights
        else ""
    )
    return f"predicted peak memory: {bytes_text(memory.peak)}{part}"
