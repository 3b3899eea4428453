"""Options of a split over devices; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated, Literal, TypeAlias, TypedDict, get_args

from netcalc.arguments import COUNT, FLAG, Option, choice

#: Stage of ZeRO: what replicas divide among them.
ZeroStage: TypeAlias = Literal["0", "1", "2", "3"]


class SplitOptions(TypedDict, total=False):
    """Split over devices."""

    tp: Annotated[int, Option(COUNT, 1, "Tensor parallelism: ranks that hold pieces of each layer.", metavar="RANKS")]
    pp: Annotated[int, Option(COUNT, 1, "Pipeline stages, each with as many layers.", metavar="STAGES")]
    dp: Annotated[int, Option(COUNT, 1, "Replicas, each with its own batch.", metavar="REPLICAS")]
    ep: Annotated[int, Option(COUNT, 1, "Replicas among which experts are divided.", metavar="RANKS")]
    cp: Annotated[int, Option(COUNT, 1, "Context parallelism: ranks that divide positions.", metavar="RANKS")]
    sp: Annotated[bool, Option(FLAG, False, "Divide positions among the ranks of --tp between their products.")]
    zero: Annotated[
        ZeroStage | None,
        Option(
            choice(*get_args(ZeroStage)),
            None,
            "ZeRO: replicas divide states (1), gradients too (2), weights too (3).",
            shown_default="0",
        ),
    ]
    fsdp: Annotated[bool, Option(FLAG, False, "Divide weights, gradients and states among replicas, as --zero 3.")]
    virtual_stages: Annotated[
        int, Option(COUNT, 1, "Parts of the layers of a pipeline stage, which take turns.", metavar="PARTS")
    ]
