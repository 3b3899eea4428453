"""Options of ``graph``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated, Literal, TypeAlias, get_args

from netcalc.arguments import COUNT, NAME, Option, choice
from netcalc.options import ConventionOptions

#: Direction of a picture: from top to bottom, or from left to right.
Direction: TypeAlias = Literal["TB", "LR"]


class GraphOptions(ConventionOptions, total=False):
    """Options of ``graph``."""

    depth: Annotated[
        int | None,
        Option(
            COUNT,
            None,
            "Open blocks to N levels of boxes; 1 opens none.",
            metavar="N",
            shown_default="as deep as 40 boxes allow",
        ),
    ]
    direction: Annotated[
        Direction, Option(choice(*get_args(Direction)), "TB", "From top to bottom, or from left to right.")
    ]
    show: Annotated[
        str,
        Option(
            NAME, "params,macs", "Figures of one instance in each box: params, macs, both, or none.", metavar="FIGURES"
        ),
    ]
