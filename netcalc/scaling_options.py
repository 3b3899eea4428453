"""Options of ``scaling``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated

from netcalc.arguments import RANGES, Option
from netcalc.options import CountOptions
from netcalc.ranges import RangesArgument


class ScalingOptions(CountOptions, total=False):
    """Options of ``scaling``."""

    over: Annotated[
        RangesArgument,
        Option(
            RANGES,
            (),
            "Dims or vars that grow: length, or length,d_model, or sizes as in length=1k,8k,64k; repeatable.",
            metavar="NAME[=RANGE]",
            shown_default="positions, or the first dim beside the batch",
        ),
    ]
