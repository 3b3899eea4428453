"""Checks of a verification, and what it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.opdef import KINDS
from netcalc.results import Result
from netcalc.weights.report import WeightsReport

__all__ = ["Check", "Gap", "ValueCount", "VerifyReport"]


@dataclass(frozen=True, slots=True)
class Check:
    """Comparison of one prediction with the executed value; ``times`` instances of the operation gave the same.

    ``path`` is the path of the first instance, and empty for the whole network.  ``what`` is "output" (shape and
    element type, with a number if there are several), the name of a parameter, a kind of work, "field along axis 2" for
    the positions that depend on a part of the input, "planned output NAME" for an output of the network by a plan,
    "decoded output NAME" and "planned decoding of output NAME" for one by decoding step by step,
    "values" for those of an operation and its definition, a kind of work of the backward pass such as "backward mac",
    "gradient of" a tensor, a tensor that is "saved", or "run" or "planned run" for an execution that raised an
    error.
    """

    path: str
    op: str
    what: str
    predicted: str | int
    executed: str | int
    times: int = 1

    @property
    def ok(self) -> bool:
        """True if the executed value equals the prediction."""
        return self.predicted == self.executed

    @property
    def group(self) -> str:
        """The kind: outputs, parameters, work, totals, receptive fields, values, backward, plan or decoding."""
        if self.what.startswith(("decoded ", "planned decoding ")):
            return "decoding"
        if self.what.startswith("planned "):
            return "plan"
        if self.what.startswith("values"):
            return "values"
        if self.what.startswith(("backward ", "gradient of ", "saved ")):
            return "backward"
        if not self.op:
            return "totals"
        if self.what.startswith("field along"):
            return "receptive fields"
        if self.what in KINDS or self.what == "run":
            return "work"
        return "outputs" if self.what.startswith("output") else "parameters"


class Gap(NamedTuple):
    """Something that a verification did not check, and the reason."""

    what: str
    reason: str


class ValueCount(NamedTuple):
    """Operations of one kind whose values were compared with their definition, and how many of them differ."""

    op: str
    operations: int
    values: int
    different: int


@dataclass(frozen=True, slots=True)
class VerifyReport(Result):
    """All checks in order of first execution, the number of operations executed, and what was not checked.

    ``values`` are the comparisons with definitions by kind of operation, and ``unseen`` names the faults that they
    cannot see; both are empty without ``values=True``.  ``audit`` is the report on a checkpoint that was compared
    too; :attr:`ok` says nothing of it.
    """

    spec: str
    checks: tuple[Check, ...]
    operations: int
    gaps: tuple[Gap, ...] = ()
    values: tuple[ValueCount, ...] = ()
    unseen: tuple[str, ...] = ()
    audit: WeightsReport | None = None

    @property
    def ok(self) -> bool:
        """True if every prediction was right."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks whose prediction was wrong."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of checks of outputs, parameters, work, totals and the plan; every instance counts."""
        counts: Counter[str] = Counter(outputs=0, parameters=0, work=0, totals=0, plan=0)
        for check in self.checks:
            counts[check.group] += check.times
        return counts
