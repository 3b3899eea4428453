"""Options of layers that totals leave out; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Sequence
from typing import Annotated, TypedDict

from netcalc.arguments import PATTERNS, Option


class ExcludeOptions(TypedDict, total=False):
    """Layers that totals leave out."""

    exclude: Annotated[
        Sequence[str],
        Option(
            PATTERNS,
            (),
            "Leave layers whose path matches out of the totals, as in 'head' or '*.router'; repeatable.",
            metavar="PATTERN",
        ),
    ]
