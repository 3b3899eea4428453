"""The typed result of ``netcalc solve``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.laws import Optimum
from netcalc.results import Entry, Real, Result, recorded

#: Unit of a figure; empty for a dim or var.
Unit: TypeAlias = Literal["parameters", "MAC", "FLOP", "elements", "bytes", "seconds", ""]
#: Value of a figure: a whole number, but for times and some vars.
Amount: TypeAlias = int | Real


class Unknown(NamedTuple):
    """A dim or var whose value is sought."""

    name: str
    value: Amount | None
    """The value of the answer; null if there is none."""
    own: Amount | None
    """The value without a question: a setting, or the default of the spec."""
    low: Amount
    """Least value that was allowed."""
    high: Amount | None
    """Greatest value that was allowed; null without a limit."""
    multiple: int
    """Number that divides every value."""
    reason: str
    """Origin of the multiple: an option or a requirement of the spec; empty for 1."""


class Aimed(NamedTuple):
    """Aim of a question: a figure that is to be best."""

    kind: Literal["maximize", "minimize", "near"]
    figure: str
    unit: Unit
    target: Amount | None
    """The amount that is to be come near to; null for the greatest or least."""
    value: Amount | None
    """The figure of the answer; null if there is none."""
    bound: Amount | None
    """No network can have more, or less, or be nearer, than a figure of this; null if nothing was proved."""


class Met(NamedTuple):
    """A condition, and the figure of the answer."""

    text: str
    figure: str
    unit: Unit
    least: Amount | None
    """Least value that is allowed; null without one."""
    most: Amount | None
    """Greatest value that is allowed; null without one."""
    value: Amount | None
    """The figure of the answer; null if there is none."""


class Step(NamedTuple):
    """The network one step further in one unknown, the others as in the answer."""

    name: str
    value: Amount | None
    """The value of the unknown; null where its range ends."""
    forward: bool
    """True for a greater value, False for a smaller one."""
    outcome: Literal["breaks", "refused", "worse", "equal", "better", "end"]
    """A condition is broken; the spec refuses it; all are met, and the aim is missed by more, or met alike; or end of
    the range.  ``better`` is possible only if the answer is not proved to be the best."""
    broken: tuple[str, ...]
    """Conditions that it breaks."""
    reason: str
    """Why the spec refuses it."""
    figures: Mapping[str, Amount]
    """Figures of the conditions and of the aim; empty where it is refused."""


class Conflict(NamedTuple):
    """A condition that cannot be met together with others."""

    text: str
    others: tuple[str, ...]
    """Conditions that hold beside it; without them it could be met."""
    figure: str
    unit: Unit
    value: Amount | None
    """The value that comes nearest to the condition while the others are met; null if not known."""
    settings: Mapping[str, Amount]
    """The unknowns there."""


class LawAnswer(NamedTuple):
    """The network of a family that is nearest to the size that a scaling law takes to be best."""

    optimum: Optimum
    settings: Mapping[str, Amount] | None
    """The unknowns; null if no network meets the conditions."""
    params: int | None
    """Parameters of the network, those that the law counts."""
    tokens: Real | None
    """Tokens that the budget of the law leaves for so many parameters, at 6 FLOPs for each of both."""


@recorded(
    *("spec", "about", "convention", "unknowns", "aim", "conditions", "found", "proved", "within", "method", "counted"),
    *("figures", "steps", "conflicts", "laws", "notes"),
    Entry("settings", "settings"),
    name="solution",
)
@dataclass(frozen=True, slots=True)
class Solution(Result):
    """Answer to the question which sizes meet conditions and are best."""

    spec: str
    about: str
    convention: str
    """Counting convention of the work."""
    unknowns: tuple[Unknown, ...]
    aim: Aimed
    conditions: tuple[Met, ...]
    proved: bool
    """True if no other sizes are better, or if none meet the conditions; False for the best of some that were tried."""
    within: tuple[str, ...]
    """Assumptions within which it is proved; ``notes`` say what is known of the networks outside."""
    method: str
    """Way to the answer, in words."""
    counted: int
    """Networks that were counted one by one."""
    figures: Mapping[str, Amount]
    """Figures of the answer."""
    steps: tuple[Step, ...]
    conflicts: tuple[Conflict, ...]
    """Conditions that exclude everything, where there is no answer."""
    laws: tuple[LawAnswer, ...]
    """Answers of scaling laws, with --law."""
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        """True if some sizes meet all conditions."""
        return all(unknown.value is not None for unknown in self.unknowns)

    @property
    def settings(self) -> Mapping[str, Amount]:
        """The unknowns of the answer by name."""
        return {unknown.name: unknown.value for unknown in self.unknowns if unknown.value is not None}
