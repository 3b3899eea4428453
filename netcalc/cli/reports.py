"""What ``shapes``, ``params``, ``flops`` and ``summary`` have in common: one report in four views and four formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import TYPE_CHECKING

from netcalc.cli import options
from netcalc.cli.options import Format

if TYPE_CHECKING:
    from netcalc.analysis.summary import Summary
    from netcalc.render.report import View

__all__ = ["report_command"]

#: Views that show no work, and so have no convention to choose.
_UNCOUNTED = ("shapes", "params")


def report_command(view: View) -> Callable[..., None]:
    """The command that reads a spec, analyses it and writes a view of it."""

    def command(
        spec: options.Spec,
        set_: options.Set = None,
        symbolic: options.Symbolic = None,
        unroll: options.Unroll = False,
        depth: options.Depth = None,
        layout: options.LayoutChoice = options.Layout.NCHW,
        convention: options.Convention = "netcalc",
        format_: options.FormatChoice = Format.TABLE,
        output: options.Output = None,
        train: options.Train = False,
    ) -> None:
        from netcalc.analysis.cost import analyse
        from netcalc.cli.output import look_for, write
        from netcalc.render.report import markdown_report, report

        analysis = analyse(options.read_program(spec, set_, symbolic, train), convention)
        if format_ is Format.TABLE:
            text = report(analysis, view, look_for(output), depth=depth, unroll=unroll, layout=layout.value)
            return write([text], output)
        if format_ is Format.MARKDOWN:
            return write(markdown_report(analysis, view, depth=depth, unroll=unroll, layout=layout.value), output)
        from netcalc.analysis.summary import summarise

        summary = summarise(analysis, depth=depth, unroll=unroll)
        return write(_json(summary, view) if format_ is Format.JSON else _csv(summary, view, layout.value), output)

    if view in _UNCOUNTED:
        known = signature(command, eval_str=True)
        kept = [option for name, option in known.parameters.items() if name != "convention"]
        command.__dict__["__signature__"] = known.replace(parameters=kept)
    return command


def _json(summary: Summary, view: View) -> Iterable[str]:
    from netcalc.cli.output import json_lines

    record = summary.as_dict(view)
    if view in _UNCOUNTED:
        del record["convention"]
    if not record["totals"]:
        del record["totals"]
    return json_lines(record, rows="layers")


def _csv(summary: Summary, view: View, layout: str) -> Iterable[str]:
    from netcalc.analysis.summary import layer_fields
    from netcalc.render.grid import csv_lines
    from netcalc.render.numbers import plain_shapes

    def cell(value: object) -> object:
        return plain_shapes(value, layout) if isinstance(value, tuple) else value

    fields = layer_fields(view)
    return csv_lines(fields, ([cell(getattr(layer, name)) for name in fields] for layer in summary.layers))
