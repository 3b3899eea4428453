"""Record of ``verify --weights``: the audit of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.numerics.parameters import Mismatch, WeightsReport

__all__ = ["WeightsRecord", "weights_record"]


class MismatchRecord(TypedDict):
    """A tensor of the checkpoint or the spec that does not match."""

    kind: str
    name: str
    message: str
    hint: str | None


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
    mismatches: list[MismatchRecord]


def weights_record(report: WeightsReport, mismatches: Iterable[Mismatch] | None = None) -> WeightsRecord:
    """Return the record of a checkpoint's audit; ``mismatches`` are those to include, by default all."""
    return {
        "schema": schema_id("weights"),
        "netcalc": __version__,
        "spec": report.spec,
        "ok": report.ok,
        "file": report.file,
        "tensors": report.tensors,
        "parameters": report.parameters,
        "mismatches": [
            {"kind": m.kind, "name": m.name, "message": m.message, "hint": m.hint}
            for m in (report.mismatches if mismatches is None else mismatches)
        ],
    }
