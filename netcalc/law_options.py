"""Options of scaling laws; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from collections.abc import Iterable
from typing import Annotated, TypedDict

from netcalc.arguments import CONVENTIONS, TOKENS, Option


class LawOptions(TypedDict, total=False):
    """Compute-optimal sizes by scaling laws."""

    law: Annotated[
        str | Iterable[str],
        Option(
            CONVENTIONS._replace(expected="the name of a scaling law or a list of names"),
            (),
            "Scaling laws: kaplan, chinchilla (-1, -2 or -3 for one of its approaches), besiroglu; all by default.",
            metavar="NAME",
        ),
    ]
    params: Annotated[
        str | float | None,
        Option(TOKENS._replace(expected="a number of parameters"), None, "Parameters in place of a budget, as in 70B."),
    ]
    tokens: Annotated[
        str | float | None, Option(TOKENS, None, "Tokens in place of a budget, as in 1.4T.", metavar="TOKENS")
    ]
