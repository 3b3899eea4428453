"""The record of how parameters are stored, within those of ``params`` and ``summary``."""

from __future__ import annotations

from typing_extensions import TypedDict

from netcalc.analysis.precision.report import StorageReport, StoredGroup
from netcalc.records.values import Count, count

__all__ = ["StorageRecord", "StoredGroupRecord", "storage_record"]


class StoredGroupRecord(TypedDict):
    """Parameters that are stored alike."""

    scheme: str
    """Name of the scheme, or of the element type."""
    sparsity: str
    """The elements that are removed, as in `--prune`; empty if none are."""
    reason: str
    """The reason why parameters are not stored as assigned; empty if they are."""
    tensors: int
    """Number of parameters."""
    params: Count
    """Elements of them all."""
    bytes: Count
    bits: float | None
    """Bits for each element; null if a size is symbolic."""
    parts: dict[str, Count]
    """Bytes by what they hold: values, scales, zero points …"""


class StorageRecord(TypedDict):
    """The storage of parameters, with `--quantize` and `--prune`; the groups with the most bytes first."""

    bits: float | None
    """Bits for each parameter of the network; null if a size is symbolic."""
    groups: list[StoredGroupRecord]


def storage_record(report: StorageReport) -> StorageRecord:
    """Return the record of a report."""
    return {"bits": report.bits, "groups": [_group(group) for group in report.groups]}


def _group(group: StoredGroup) -> StoredGroupRecord:
    return {
        "scheme": group.scheme,
        "sparsity": group.sparsity,
        "reason": group.reason,
        "tensors": group.tensors,
        "params": count(group.params),
        "bytes": count(group.bytes),
        "bits": group.bits,
        "parts": {role: count(size) for role, size in group.parts.items()},
    }
