"""Options of closed forms; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated, Literal, TypeAlias, TypedDict, get_args

from netcalc.arguments import Option, choice
from netcalc.options import MemoryOptions, WorkOptions

#: Notation of a formula.
Notation: TypeAlias = Literal["text", "latex", "python", "sympy"]


class NotationOptions(TypedDict, total=False):
    """Closed forms in place of a report."""

    formula: Annotated[
        Notation | None,
        Option(
            choice(*get_args(Notation)),
            None,
            "Write the totals as formulas of --symbolic sizes, and nothing else.",
        ),
    ]


class FormOptions(NotationOptions, WorkOptions, total=False):
    """Work that is written as formulas."""


class MemoryFormOptions(NotationOptions, MemoryOptions, total=False):
    """Memory that is written as formulas."""
