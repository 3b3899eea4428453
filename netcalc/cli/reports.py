"""What ``shapes``, ``params``, ``flops`` and ``summary`` have in common: one report in four views and four formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from netcalc.cli import options
from netcalc.cli.options import Format

if TYPE_CHECKING:
    from netcalc.analysis.summary import Summary
    from netcalc.render.report import View

__all__ = ["FIELDS", "write_report"]

#: What a layer gives as JSON and CSV in each view.
FIELDS: dict[str, tuple[str, ...]] = {
    "shapes": ("path", "op", "inputs", "outputs", "repeat"),
    "params": ("path", "op", "params", "params_trainable", "params_tied", "buffers", "weight_bytes", "repeat"),
    "flops": ("path", "op", "inputs", "outputs", "macs", "flops", "repeat"),
    "summary": ("path", "op", "inputs", "outputs", "params", "buffers", "macs", "flops", "repeat"),
}
_TOTALS: dict[str, tuple[str, ...]] = {
    "shapes": (),
    "params": ("params", "params_active", "params_trainable", "buffers", "weight_bytes"),
    "flops": ("macs", "flops", "macs_expected", "flops_expected"),
}


def write_report(
    view: View,
    spec: str,
    settings: list[str] | None,
    symbolic: list[str] | None,
    train: bool,
    *,
    unroll: bool,
    depth: int | None,
    layout: options.Layout,
    format_: Format,
    output: str | None,
    convention: str = "netcalc",
) -> None:
    """Reads the spec, analyses it and writes the view."""
    from netcalc.analysis.summary import analyse, summarise
    from netcalc.cli.output import look_for, write

    analysis = analyse(options.read_program(spec, settings, symbolic, train), convention)
    if format_ is Format.TABLE:
        from netcalc.render.report import report

        text = report(analysis, view, look_for(output), depth=depth, unroll=unroll, layout=layout.value)
        return write([text], output)
    if format_ is Format.MARKDOWN:
        from netcalc.render.report import markdown_report

        return write(markdown_report(analysis, view, depth=depth, unroll=unroll, layout=layout.value), output)
    summary = summarise(analysis, depth=depth, unroll=unroll)
    return write(_json(summary, view) if format_ is Format.JSON else _csv(summary, view, layout.value), output)


def _json(summary: Summary, view: View) -> Iterable[str]:
    from netcalc.cli.output import json_lines

    record = summary.as_dict(FIELDS[view])
    totals = _TOTALS.get(view, record["totals"])
    record["totals"] = {name: value for name, value in record["totals"].items() if name in totals}
    if view in ("shapes", "params"):
        del record["convention"]
    if not record["totals"]:
        del record["totals"]
    return json_lines(record, rows="layers")


def _csv(summary: Summary, view: View, layout: str) -> Iterable[str]:
    from netcalc.render.grid import csv_lines
    from netcalc.render.numbers import shape_text

    def cell(value: object) -> object:
        if not isinstance(value, tuple):
            return value
        # a plain x, which every spreadsheet reads
        return " ".join(shape_text(type_.shape, layout).replace("×", "x") for type_ in value)

    fields = FIELDS[view]
    return csv_lines(fields, ([cell(getattr(layer, name)) for name in fields] for layer in summary.layers))
