"""Options of ``budget``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from pathlib import Path
from typing import Annotated, Any

from netcalc.arguments import BUDGET, PATH, Option
from netcalc.options import ConventionOptions


def _limit(of: str, metavar: str = "N") -> Any:
    return Option(BUDGET, None, f"Most {of}.", metavar=metavar)


class BudgetOptions(ConventionOptions, total=False):
    """Options of ``budget``."""

    max_params: Annotated[str | int | None, _limit("parameters, as in 25M")]
    max_macs: Annotated[str | int | None, _limit("multiply-adds of a forward pass, as in 4.1G")]
    max_flops: Annotated[str | int | None, _limit("operations of a forward pass, as in 8G")]
    max_macts: Annotated[
        str | int | None,
        _limit("activations as timm and fvcore count them: elements of outputs of products, as in 11M"),
    ]
    max_weights: Annotated[str | int | None, _limit("bytes of parameters, as in 100MiB", "BYTES")]
    max_activations: Annotated[str | int | None, _limit("bytes of activations at a time", "BYTES")]
    max_memory: Annotated[
        str | int | None, _limit("bytes of weights, buffers, caches and activations at a time", "BYTES")
    ]
    against: Annotated[
        str | Path | None,
        Option(PATH, None, "Compare with a record of `summary --format json`: no figure may grow.", metavar="FILE"),
    ]
    allow: Annotated[
        str | int | float | None,
        Option(
            BUDGET, None, "With --against: growth that is allowed, as in 1%.", metavar="PERCENT", shown_default="0%"
        ),
    ]
