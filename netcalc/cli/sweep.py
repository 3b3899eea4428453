"""Figures at many values of dims and vars. --over width=0.25:2:0.25 --over depth=2,4,8 --over d_model=log:256:4096:9
takes every combination, and --random 10000 --seed 1 draws different points of them. --set 'heads=${d_model // 64}'
sets what follows from swept values. Values that the spec does not take, as by its requirements, are rows with the
reason.

--figures names the columns: params, macs, flops, memory, weights, activations, cache. The page lists the points with
the least figure of --best, and with --pareto those of which no other is better: --pareto params,macs, or
--pareto params,max:accuracy with figures of --join FILE.csv, whose rows are matched by the swept columns.

--format csv writes all rows, and -o FILE.svg, or .png with the extra 'plot', the chart. -o FILE.csv writes the rows,
as do .parquet and .jsonl, and the page is printed; --workers 2 counts in two processes, and
--on dask://HOST:PORT or ray://HOST:PORT on a cluster. A sweep that was stopped goes on with --resume.
"""

from __future__ import annotations

from netcalc.cli.options import FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import PICTURES, REPORTS, ROWS, suffix_of
from netcalc.cli.verb import Call, verb
from netcalc.options import ModelOptions
from netcalc.serving_options import OverOptions
from netcalc.sweep_options import SweepOptions


@verb(
    OverOptions,
    SweepOptions,
    FormatOptions,
    OutputOptions,
    ModelOptions,
    ModeOptions,
    writes=(*REPORTS, *PICTURES, *ROWS),
)
def command(call: Call) -> None:
    """Count a network at many values of its dims and vars: the best points, and a Pareto front."""
    from netcalc.render.progress import Progress

    options, suffix = call.of(SweepOptions), suffix_of(call["output"])
    if suffix not in (".csv", *ROWS):
        options.pop("output", None)
    with Progress() as shown:
        result = call.network().sweep(
            call["over"] or (), progress=lambda done, total: shown(done, total, "points"), **options
        )
    (call.report if suffix in (".csv", *ROWS) else call.write)(result)
