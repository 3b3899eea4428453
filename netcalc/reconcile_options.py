"""Options of ``reconcile``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated, TypedDict

from netcalc.arguments import CONVENTION, NAME, Option
from netcalc.exclude_options import ExcludeOptions
from netcalc.options import DepthOptions, ModelOptions


class ReconcileOptions(DepthOptions, ExcludeOptions, total=False):
    """Options of a reconciliation of two conventions."""

    before: Annotated[
        str | None,
        Option(
            CONVENTION,
            None,
            "Counting convention of the first total.",
            ("--from",),
            metavar="NAME",
            shown_default="torchvision",
        ),
    ]
    after: Annotated[
        str | None,
        Option(
            CONVENTION,
            None,
            "Counting convention of the second total.",
            ("--to",),
            metavar="NAME",
            shown_default="netcalc",
        ),
    ]


class NetworkReconciliationOptions(ModelOptions, DepthOptions, total=False):
    """Options of a reconciliation of two networks."""

    convention: Annotated[
        str | None,
        Option(
            CONVENTION,
            None,
            "Of two models: counting convention of the work.",
            ("--convention", "-c"),
            metavar="NAME",
            shown_default="netcalc",
        ),
    ]


class ReportedOptions(TypedDict, total=False):
    """A number that another source reports."""

    reported: Annotated[
        str | None,
        Option(NAME, None, "Explain this number of MACs or FLOPs, as in 11.29G or 11.29GMAC.", metavar="NUMBER"),
    ]
    reported_params: Annotated[
        str | None, Option(NAME, None, "Explain this number of parameters, as in 58.07M.", metavar="NUMBER")
    ]
    reported_memory: Annotated[
        str | None, Option(NAME, None, "Explain this number of bytes, as in 16.1GiB or 97.7MB.", metavar="BYTES")
    ]
