"""Options of ``fit``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated

from netcalc.arguments import BUDGET, COUNT, NAME, Option
from netcalc.options import AttentionOptions, CacheType, DeviceOptions, PhaseOptions, StepOptions, StoredOptions


class FitOptions(DeviceOptions, StoredOptions, AttentionOptions, PhaseOptions, StepOptions, total=False):
    """Options of ``fit``."""

    batch: Annotated[
        int | None, Option(COUNT, None, "Sequences or examples at a time.", metavar="N", shown_default="1")
    ]
    length: Annotated[
        int | None,
        Option(
            COUNT,
            None,
            "Positions of a sequence.",
            metavar="N",
            shown_default="the smaller of 8,192 and the model's context",
        ),
    ]
    cache: Annotated[
        str, Option(NAME, "ideal", "Memory of caches: ideal, vllm, vllm-hybrid or llama.cpp.", metavar="NAME")
    ]
    cache_dtype: CacheType
    reserve: Annotated[
        str | int | None,
        Option(
            BUDGET,
            None,
            "Memory of a device left to the framework and to fragmentation, as in 1GiB or 5%.",
            metavar="BYTES|PERCENT",
            shown_default="10% of a device by name, none of bytes",
        ),
    ]
