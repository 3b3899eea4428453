"""Options of ``reconcile``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated, TypedDict

from netcalc.arguments import CONVENTION, NAME, Option
from netcalc.options import DepthOptions, ModelOptions, WorkOptions


class ReconcileOptions(DepthOptions, WorkOptions, total=False):
    """Options of a reconciliation of two conventions."""

    before: Annotated[
        str | None,
        Option(
            CONVENTION,
            None,
            "Counting convention of the first total.",
            ("--from",),
            metavar="NAME",
            shown_default="torchvision; torch for a backward pass",
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


class _OneConvention(TypedDict, total=False):
    """The convention of two networks, or one of a user's own among which a number is looked for."""

    convention: Annotated[
        str | None,
        Option(
            CONVENTION,
            None,
            "Of two models: counting convention of the work. With --reported: a file of one's own, searched too.",
            ("--convention", "-c"),
            metavar="NAME",
            shown_default="netcalc",
        ),
    ]


class NetworkReconciliationOptions(ModelOptions, DepthOptions, _OneConvention, total=False):
    """Options of a reconciliation of two networks."""


class ReportedOptions(_OneConvention, total=False):
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
