"""Checks of a verification, and what it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from netcalc.dims import Dim, integer
from netcalc.opdef import KINDS
from netcalc.results import Entry, Result, recorded
from netcalc.weights.report import WeightsReport

if TYPE_CHECKING:
    from netcalc.analysis.walk import Instance


def described(shape: Iterable[Dim], dtype: str) -> str:
    """Return a shape without symbolic sizes and an element type as text."""
    return f"{'×'.join(str(integer(size)) for size in shape) or 'scalar'} {dtype}"


@recorded("path", "op", "what", "predicted", "executed", "times", "ok")
@dataclass(frozen=True, slots=True)
class Check:
    """A predicted and an executed value; equal checks of several instances are one entry.

    ``path`` is the path of the first instance, and empty for the whole network.  ``what`` is "output" (shape and
    element type, with a number if there are several), the name of a parameter, a kind of work, "field along axis 2" for
    the positions that depend on a part of the input, "planned output NAME" for an output of the network by a plan,
    "decoded output NAME" and "planned decoding of output NAME" for one by decoding step by step, "values" for the
    values of an operation and of its definition, "initial NAME" for the distribution of a parameter, "counted by NAME"
    for the work under a convention, "memory" of a kernel or "memory of" an execution, "gradient values" for gradients
    and central differences, a kind of work of the backward pass such as "backward mac", "gradient of" a tensor, a
    tensor that is "saved", or "run", "backward run" or "planned run" for an execution that raised an error.
    """

    path: str
    """Path of the first instance; empty for checks of the whole network."""
    op: str
    what: str
    """The output, parameter or kind of work that was checked."""
    predicted: int | str
    executed: int | str
    times: int = 1
    """Number of equal checks."""

    @property
    def ok(self) -> bool:
        """True if the executed value equals the prediction."""
        return self.predicted == self.executed

    @property
    def group(self) -> str:
        """The kind of the check; ``counts`` are by these."""
        if self.what.startswith(("decoded ", "planned decoding ")):
            return "decoding"
        if self.what.startswith("planned "):
            return "plan"
        if self.what.startswith("values"):
            return "values"
        if self.what.startswith("gradient values"):
            return "gradients"
        if self.what.startswith(("backward ", "gradient of ", "saved ")):
            return "backward"
        if self.what.startswith("initial "):
            return "initial values"
        if self.what.startswith("memory"):
            return "memory"
        if self.what.startswith("counted by "):
            return "conventions"
        if not self.op:
            return "totals"
        if self.what.startswith("field along"):
            return "receptive fields"
        if self.what in KINDS or self.what == "run":
            return "work"
        return "outputs" if self.what.startswith("output") else "parameters"


class InstanceCheck(NamedTuple):
    """A predicted and an executed value of one instance of an operation, None for the whole network; see Check."""

    instance: Instance | None
    what: str
    predicted: str | int
    executed: str | int


class Gap(NamedTuple):
    """Something that was not checked, and the reason."""

    what: str
    reason: str


class ValueCount(NamedTuple):
    """Operations of one kind that were compared with their definition."""

    op: str
    operations: int
    values: int
    """Number of values compared."""
    different: int
    """Number of operations that differ."""


@recorded(
    *("spec", "ok", "operations", "counts", "gaps", "values", "gradients", "unseen"),
    *(Entry("weights", "audit"), "checks"),
    name="verify",
)
@dataclass(frozen=True, slots=True)
class VerifyReport(Result):
    """The checks of a verification."""

    spec: str
    """Name of the spec."""
    checks: tuple[Check, ...]
    """All checks in order of first execution."""
    operations: int
    """Number of executed operations."""
    gaps: tuple[Gap, ...] = ()
    """Parts and properties that were not checked."""
    values: tuple[ValueCount, ...] = ()
    """Comparisons with definitions, by kind of operation; empty without ``--values``."""
    gradients: tuple[ValueCount, ...] = ()
    """Comparisons of gradients with central differences, by kind of operation; empty without ``--backward``."""
    unseen: tuple[str, ...] = ()
    """Faults that such comparisons cannot see."""
    audit: WeightsReport | None = None
    """The audit of the weights that were checked too; null if no weights were checked."""

    @property
    def ok(self) -> bool:
        """True if every prediction equals the executed value."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks whose prediction was wrong."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of checks of outputs, parameters, work, totals, the plan and values; every instance counts."""
        counts: Counter[str] = Counter(outputs=0, parameters=0, work=0, totals=0, plan=0)
        for check in self.checks:
            counts[check.group] += check.times
        return counts
