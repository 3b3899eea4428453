"""Record of ``verify --weights``: the audit of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.checkpoint import PackedRecord, packed_records
from netcalc.version import __version__
from netcalc.weights.report import grouped

if TYPE_CHECKING:
    from netcalc.weights.report import Inventory, Mismatch, WeightsReport

__all__ = ["WeightsRecord", "weights_record"]


class MismatchRecord(TypedDict):
    """A tensor of the checkpoint or the spec that does not match."""

    kind: str
    name: str
    message: str
    hint: str | None


class MismatchGroupRecord(TypedDict):
    """Mismatches of one kind, for the same reason, whose names differ in numbers only."""

    kind: str
    pattern: str
    """Name with * in place of numbers, or the name of the only tensor."""
    count: int
    message: str
    hint: str | None


class ExtraRecord(TypedDict):
    """Tensors that the spec does not have, under a prefix."""

    prefix: str
    """Prefix, with * in place of numbers."""
    groups: int
    """Number of such prefixes."""
    ignored: bool
    """True if the spec declares them to be of no use."""
    tensors: int
    params: int
    bytes: int


class StoredTypesRecord(TypedDict):
    """Figures of all tensors of one element type."""

    dtype: str
    tensors: int
    elements: int
    bytes: int


class StoredRecord(TypedDict):
    """Figures of the checkpoint: what it stores, and the parameters that this stands for."""

    files: int
    params: int
    """Elements of the tensors that those of the checkpoint stand for."""
    elements: int
    """Stored elements."""
    bytes: int
    bits: float | None
    """Bits of a weight on average, where elements are stored in blocks, as in GGUF."""
    types: list[StoredTypesRecord]
    packed: list[PackedRecord]
    extra: list[ExtraRecord]


class WeightsRecord(TypedDict):
    """The result of comparing the tensors of a checkpoint with the parameters of a spec."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    ok: bool
    """True if all names, shapes and types match."""
    file: str
    tensors: int
    """Number of tensors in the file."""
    parameters: int
    """Number of parameters and buffers that were looked up."""
    initial: int
    """Number of optional ones that the checkpoint lacks, and that keep their initial values."""
    ignored: int
    """Number of tensors that the spec declares to be of no use."""
    stored: StoredRecord | None
    """Figures of the checkpoint."""
    mismatches: list[MismatchRecord]
    groups: list[MismatchGroupRecord]


def weights_record(report: WeightsReport, mismatches: Iterable[Mismatch] | None = None) -> WeightsRecord:
    """Return the record of a checkpoint's audit; ``mismatches`` are those to include, by default all."""
    shown = report.mismatches if mismatches is None else tuple(mismatches)
    return {
        "schema": schema_id("weights"),
        "netcalc": __version__,
        "spec": report.spec,
        "ok": report.ok,
        "file": report.file,
        "tensors": report.tensors,
        "parameters": report.parameters,
        "initial": report.initial,
        "ignored": report.ignored,
        "stored": None if report.inventory is None else _stored(report.inventory),
        "mismatches": [{"kind": m.kind, "name": m.name, "message": m.message, "hint": m.hint} for m in shown],
        "groups": [
            {"kind": g.kind, "pattern": g.name, "count": g.count, "message": g.message, "hint": g.hint}
            for g in grouped(shown)
        ],
    }


def _stored(found: Inventory) -> StoredRecord:
    return {
        "files": found.files,
        "params": found.params,
        "elements": found.elements,
        "bytes": found.bytes,
        "bits": found.bits,
        "types": [cast("StoredTypesRecord", kind._asdict()) for kind in found.types],
        "packed": packed_records(found.packed),
        "extra": [cast("ExtraRecord", extra._asdict()) for extra in found.extra],
    }
