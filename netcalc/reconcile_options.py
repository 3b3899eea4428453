"""Options of ``reconcile``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated

from netcalc.arguments import CONVENTION, Option
from netcalc.options import DepthOptions


class ReconcileOptions(DepthOptions, total=False):
    """Options of a reconciliation of two conventions."""

    before: Annotated[
        str, Option(CONVENTION, "torchvision", "Counting convention of the first total.", ("--from",), metavar="NAME")
    ]
    after: Annotated[
        str, Option(CONVENTION, "netcalc", "Counting convention of the second total.", ("--to",), metavar="NAME")
    ]
