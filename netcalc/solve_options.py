"""Options of ``solve``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypedDict

from netcalc.arguments import ASSIGNMENTS, CONVENTIONS, NAME, RANGES, TOKENS, Option
from netcalc.options import CacheType, CountOptions, DeviceOptions, PhaseOptions, StepOptions, StoredOptions
from netcalc.ranges import RangesArgument


class LawAsked(TypedDict, total=False):
    """A scaling law, and the budget of a training."""

    law: Annotated[
        str | Iterable[str],
        Option(
            CONVENTIONS._replace(expected="the name of a scaling law or a list of names"),
            (),
            "Come near to the size that a scaling law takes to be best: chinchilla, besiroglu, kaplan; repeatable.",
            metavar="NAME",
        ),
    ]
    compute: Annotated[
        str | float | Iterable[str | float] | None,
        Option(
            TOKENS._replace(expected="a number of FLOPs, or several", many=True),
            None,
            "With --law: FLOPs of the whole training, as in 5.76e23; repeatable.",
            metavar="FLOPS",
        ),
    ]
    tokens: Annotated[
        str | float | None,
        Option(TOKENS, None, "With --law: tokens of the training, as in 1.4T, in place of --compute.", metavar="N"),
    ]


class SolveOptions(LawAsked, CountOptions, StoredOptions, StepOptions, PhaseOptions, DeviceOptions, total=False):
    """Options of ``solve``."""

    unknowns: Annotated[
        RangesArgument,
        Option(
            RANGES,
            (),
            "Dims or vars that are sought: d_model, or with values as in layers=2:48:2 or heads=8,12,16; repeatable.",
            ("--for",),
            "NAME[=RANGE]",
        ),
    ]
    multiple_of: Annotated[
        Mapping[str, Any] | str | Iterable[str],
        Option(
            RANGES._replace(expected="a mapping of names to numbers, a string, or a list of strings"),
            (),
            "Take multiples of a number alone, as in d_model=64; repeatable.",
            metavar="NAME=NUMBER",
        ),
    ]
    under: Annotated[
        str | Iterable[str],
        Option(
            ASSIGNMENTS,
            (),
            "A condition, as in 'params <= 125M', '1G <= macs <= 2G' or 'memory <= 8GiB'; repeatable.",
            metavar="CONDITION",
        ),
    ]
    maximize: Annotated[
        str | None,
        Option(
            NAME,
            None,
            "The figure that is to be greatest.",
            metavar="FIGURE",
            shown_default="the first that has a greatest value",
        ),
    ]
    minimize: Annotated[str | None, Option(NAME, None, "The figure that is to be least.", metavar="FIGURE")]
    near: Annotated[
        str | None,
        Option(NAME, None, "A figure that is to come near to an amount, as in params=125M.", metavar="FIGURE=AMOUNT"),
    ]
    cache: Annotated[
        str | Iterable[str],
        Option(
            ASSIGNMENTS,
            (),
            "Memory of caches: ideal, vllm, vllm-hybrid or llama.cpp.",
            metavar="NAME",
            shown_default="ideal",
        ),
    ]
    cache_dtype: CacheType
