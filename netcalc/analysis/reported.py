"""Explanations of a reported number: choices of counting that reproduce each of its digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from netcalc.results import Result, recorded

#: Figure of which a number is reported: MACs or FLOPs, parameters, or bytes.
FigureName: TypeAlias = Literal["work", "params", "memory"]
#: Chance above which it is printed that a drawn number would be explained too.
NOTABLE = 0.05


class Explained(NamedTuple):
    """A way to count that comes near the number; it reproduces each digit if it is among the explanations."""

    value: int
    """The number that is computed, rounded to a whole one."""
    choices: tuple[str, ...]
    """Choices that differ from netcalc's own count at the sizes of the model."""
    command: str
    """Command that prints ``counted``."""
    counted: int
    """The figure that the command prints."""
    arithmetic: tuple[str, ...]
    """Steps from the figure to the value; empty if it is the figure itself."""
    chance: float
    """Share of drawn numbers of as many digits that as many choices would explain."""


@recorded(
    "spec",
    "reported",
    "figure",
    "unit",
    "explanations",
    "nearest",
    "left_over",
    "candidates",
    name="reconcile-reported",
)
@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """A reported number, and what explains it."""

    spec: str
    """Name of the spec."""
    reported: str
    """The number as it is printed."""
    figure: FigureName
    unit: str
    """MAC or FLOP if the number has this unit; empty otherwise."""
    explanations: tuple[Explained, ...]
    """At most ten, those with the fewest choices first."""
    nearest: Explained | None
    """Nearest figure, where nothing explains the number."""
    left_over: int | None
    """The reported number minus the nearest one."""
    candidates: int
    """Number of values that were compared."""

    @property
    def ok(self) -> bool:
        """True if something reproduces each digit."""
        return bool(self.explanations)
