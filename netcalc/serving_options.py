"""Options of serving: ranges of sizes, and places of layers; see :mod:`netcalc.options`."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Sequence
from typing import Annotated, TypedDict

from netcalc.arguments import NAME, NAMES, NATURAL, RANGES, Option
from netcalc.ranges import RangesArgument


class OverOptions(TypedDict, total=False):
    """Ranges of sizes."""

    over: Annotated[
        RangesArgument,
        Option(
            RANGES,
            (),
            "A row for each value: length=2048,8192, batch=1:8[:STEP] or length=log:1k:128k:8; repeatable.",
            metavar="NAME=RANGE",
        ),
    ]


class PlacementOptions(TypedDict, total=False):
    """Places of layers, experts and further models: a device, and the memory of its host."""

    gpu_layers: Annotated[
        int | None,
        Option(
            NATURAL,
            None,
            "Layers on the device, the output first and then the last ones, as -ngl of llama.cpp; bytes by place.",
            metavar="N",
            shown_default="all, with the options below",
        ),
    ]
    experts_on: Annotated[
        str | None,
        Option(
            NAME,
            None,
            "Keep routed experts in the memory of the host: cpu, or cpu:N for the first N layers.",
            metavar="cpu[:N]",
        ),
    ]
    companion: Annotated[
        Sequence[str],
        Option(NAMES, (), "Another model on the device, such as mmproj.gguf; repeatable.", metavar="MODEL"),
    ]
    draft: Annotated[
        str | None,
        Option(NAME, None, "A draft model on the device, with caches of the same positions.", metavar="MODEL"),
    ]
