"""Options of ``sweep``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Callable
from typing import Annotated, TypedDict

from netcalc.arguments import COUNT, FUNCTION, NAME, NATURAL, PATH, Option


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
    progress: Annotated[
        Callable[[int, int], None] | None,
        Option(FUNCTION, None, "Function that is called with the number of points done and of all points.", ()),
    ]
