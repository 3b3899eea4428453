"""Options of ``sweep``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Callable
from typing import Annotated, TypedDict

from netcalc.arguments import COUNT, FLAG, FUNCTION, NAME, NATURAL, PATH, Option


class SweepOptions(TypedDict, total=False):
    """Options of ``sweep``."""

    random: Annotated[
        int | None,
        Option(COUNT, None, "Draw so many different points from the grid.", metavar="N", shown_default="all points"),
    ]
    seed: Annotated[int, Option(NATURAL, 0, "Seed of the points that are drawn.")]
    figures: Annotated[
        str,
        Option(
            NAME,
            "params,macs",
            "Figures of each point: params, macs, flops, memory, weights, activations, cache.",
            metavar="NAME,…",
        ),
    ]
    pareto: Annotated[
        str | None,
        Option(
            NAME,
            None,
            "List the points of which no other is as good in all of these figures and better in one: params,macs, "
            "or params,max:accuracy with a figure of --join.",
            metavar="[max:]NAME,…",
        ),
    ]
    best: Annotated[
        str | None,
        Option(
            NAME,
            None,
            "List the points with the least figure, or with max: before it the greatest.",
            metavar="[max:]NAME",
            shown_default="the first figure",
        ),
    ]
    top: Annotated[int, Option(COUNT, 10, "Rows of the list of the best points.", metavar="N")]
    join: Annotated[
        str | None,
        Option(
            PATH,
            None,
            "A CSV file with further figures of points, which have the same values of the swept columns.",
            metavar="FILE.csv",
        ),
    ]
    workers: Annotated[
        int | None,
        Option(
            COUNT,
            None,
            "Processes that count points; on a cluster, those of its workers that do at a time.",
            metavar="N",
            shown_default="one process, all workers of a cluster",
        ),
    ]
    on: Annotated[
        str | None,
        Option(
            NAME,
            None,
            "A cluster whose workers count points, of Dask or Ray; it must be one that you trust.",
            metavar="dask://HOST:PORT|ray://HOST:PORT",
        ),
    ]
    resume: Annotated[bool, Option(FLAG, False, "Go on with the sweep to the file of -o that was stopped.")]
    output: Annotated[
        str | None,
        Option(PATH, None, "A .parquet, .csv or .jsonl to which all points are written, in place of `points`.", ()),
    ]
    progress: Annotated[
        Callable[[int, int], None] | None,
        Option(FUNCTION, None, "Function that is called with the number of points done and of all points.", ()),
    ]
