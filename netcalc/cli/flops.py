"""A multiply-add is one MAC and two FLOPs. What a convention does not count is reported by name."""

from __future__ import annotations

from netcalc.cli import options
from netcalc.cli.reports import write_report


def command(
    spec: options.Spec,
    set_: options.Set = None,
    symbolic: options.Symbolic = None,
    unroll: options.Unroll = False,
    depth: options.Depth = None,
    layout: options.LayoutChoice = options.Layout.NCHW,
    convention: options.Convention = "netcalc",
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    train: options.Train = False,
) -> None:
    write_report(
        "flops",
        spec,
        set_,
        symbolic,
        train,
        unroll=unroll,
        depth=depth,
        layout=layout,
        format_=format_,
        output=output,
        convention=convention,
    )
