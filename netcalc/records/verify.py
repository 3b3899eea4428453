"""Record of ``verify``: every prediction and the executed value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.weights import WeightsRecord, weights_record
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.verification.report import Check, VerifyReport
    from netcalc.weights.report import WeightsReport

__all__ = ["VerificationRecord", "verification_record"]


class CheckRecord(TypedDict):
    """A predicted and an executed value; equal checks of several instances are one entry."""

    path: str
    """Path of the first instance; empty for checks of the whole network."""
    op: str
    what: str
    """The output, parameter or kind of work that was checked."""
    predicted: int | str
    executed: int | str
    times: int
    """Number of equal checks."""
    ok: bool


class GapRecord(TypedDict):
    """Something that was not checked, and the reason."""

    what: str
    reason: str


class ValueCountRecord(TypedDict):
    """Operations of one kind that were compared with their definition."""

    op: str
    operations: int
    values: int
    """Number of values compared."""
    different: int
    """Number of operations that differ."""


class VerificationRecord(TypedDict):
    """The checks of a verification."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    ok: bool
    """True if every prediction equals the executed value."""
    operations: int
    """Number of executed operations."""
    counts: dict[str, int]
    """Number of checks of outputs, parameters, work, totals, the plan and values."""
    gaps: list[GapRecord]
    """What was not checked."""
    values: list[ValueCountRecord]
    """Comparisons with definitions, by kind of operation; empty without ``--values``."""
    unseen: list[str]
    """Faults that such comparisons cannot see."""
    weights: WeightsRecord | None
    """The audit of the weights that were checked too; null if there were none."""
    checks: list[CheckRecord]


def verification_record(
    report: VerifyReport, checks: Iterable[Check] | None = None, audit: WeightsReport | None = None
) -> VerificationRecord:
    """Return the record of a verification; ``checks`` are the checks to include, by default all."""
    return {
        "schema": schema_id("verify"),
        "netcalc": __version__,
        "spec": report.spec,
        "ok": report.ok,
        "operations": report.operations,
        "counts": dict(report.counts),
        "gaps": [{"what": gap.what, "reason": gap.reason} for gap in report.gaps],
        "values": [
            {"op": v.op, "operations": v.operations, "values": v.values, "different": v.different}
            for v in report.values
        ],
        "unseen": list(report.unseen),
        "weights": None if audit is None else weights_record(audit),
        "checks": [
            {
                "path": check.path,
                "op": check.op,
                "what": check.what,
                "predicted": check.predicted,
                "executed": check.executed,
                "times": check.times,
                "ok": check.ok,
            }
            for check in (report.checks if checks is None else checks)
        ],
    }
