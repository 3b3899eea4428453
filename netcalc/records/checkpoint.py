"""Record of ``params`` of a checkpoint: its tensors, read from headers alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, NotRequired, cast

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.weights.content import Checkpoint, CheckpointTensor
    from netcalc.weights.packing.unpacked import Packed
    from netcalc.weights.tree import Group

__all__ = ["CheckpointRecord", "PackedRecord", "checkpoint_record", "packed_records"]


class CheckpointTotalsRecord(TypedDict):
    """Figures of all tensors; a name that several files have counts once."""

    tensors: int
    params: int
    """Elements of the tensors that those of the checkpoint stand for."""
    elements: int
    """Stored elements."""
    bytes: int


class CheckpointFileRecord(TypedDict):
    """A file, with the number and the bytes of its tensors."""

    name: str
    tensors: int
    bytes: int


class CheckpointTypeRecord(TypedDict):
    """Figures of the tensors of one element type."""

    dtype: str
    tensors: int
    params: int
    """Elements that they stand for, where packed."""
    elements: int
    """Stored elements."""
    bytes: int


class CheckpointTensorRecord(TypedDict):
    """A tensor."""

    name: str
    dtype: str
    """Element type; one that netcalc does not have is named as in the file."""
    shape: list[int]
    params: int
    """Elements that it stands for: of a packed tensor more than `elements`, of its companions none."""
    elements: int
    """Stored elements."""
    bytes: int
    file: str
    scheme: str | None
    """Scheme of quantisation of a packed tensor and its companions."""


class CheckpointGroupRecord(TypedDict):
    """All tensors under a prefix."""

    prefix: str
    """Name of the prefix, or of the only tensor."""
    dtypes: list[str]
    tensors: int
    params: int
    """Elements that they stand for, where packed."""
    elements: int
    """Stored elements."""
    bytes: int
    files: list[str]


class PackedRecord(TypedDict):
    """Figures of the tensors that a scheme of quantisation packs, with their companions (scales, zero points)."""

    scheme: str
    tensors: int
    """Number of packed tensors."""
    companions: int
    params: int
    """Elements that they stand for."""
    elements: int
    """Stored elements, companions included."""
    bytes: int


class DuplicateRecord(TypedDict):
    """A name that several files have; the first one counts."""

    name: str
    files: list[str]
    same: bool
    """True if shape and type are the same everywhere."""
    bytes: int
    """Bytes of all but the first."""


class CopiesRecord(TypedDict):
    """Tensors under a prefix that have the name, shape and type of others without it; data are not compared."""

    prefix: str
    tensors: int
    bytes: int


class CheckpointRecord(TypedDict):
    """The tensors of a checkpoint."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    file: str
    files: list[CheckpointFileRecord]
    totals: CheckpointTotalsRecord
    types: list[CheckpointTypeRecord]
    duplicates: list[DuplicateRecord]
    copies: list[CopiesRecord]
    packed: list[PackedRecord]
    notes: list[str]
    """What is not known of packed tensors."""
    tensors: NotRequired[list[CheckpointTensorRecord]]
    """Without `--depth`: the tensors."""
    groups: NotRequired[list[CheckpointGroupRecord]]
    """With `--depth`: the prefixes at that depth."""


def checkpoint_record(
    content: Checkpoint, rows: Iterable[Group] | None = None, *, depth: bool = False
) -> CheckpointRecord:
    """Return the record of a checkpoint; ``rows`` are the tensors or groups to include, by default all tensors."""
    record: CheckpointRecord = {
        "schema": schema_id("checkpoint"),
        "netcalc": __version__,
        "file": content.name,
        "files": [{"name": file.name, "tensors": file.tensors, "bytes": file.bytes} for file in content.files],
        "totals": {
            "tensors": len(content.tensors),
            "params": content.params,
            "elements": content.elements,
            "bytes": content.bytes,
        },
        "types": [cast("CheckpointTypeRecord", found._asdict()) for found in content.types],
        "duplicates": [
            {"name": found.name, "files": list(found.files), "same": found.same, "bytes": found.bytes}
            for found in content.duplicates
        ],
        "copies": [
            {"prefix": found.prefix, "tensors": found.tensors, "bytes": found.bytes} for found in content.copies
        ],
        "packed": packed_records(content.packed),
        "notes": list(content.notes),
    }
    if depth:
        record["groups"] = [_group(row) for row in rows or ()]
        return record
    by_name = {tensor.name: tensor for tensor in content.tensors}
    shown = content.tensors if rows is None else [by_name[row.name] for row in rows]
    record["tensors"] = [_tensor(tensor) for tensor in shown]
    return record


def packed_records(packed: Iterable[Packed]) -> list[PackedRecord]:
    """Return the records of figures by scheme."""
    return [cast("PackedRecord", asdict(found)) for found in packed]


def _tensor(tensor: CheckpointTensor) -> CheckpointTensorRecord:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "params": tensor.params,
        "elements": tensor.elements,
        "bytes": tensor.bytes,
        "file": tensor.file,
        "scheme": tensor.scheme or None,
    }


def _group(row: Group) -> CheckpointGroupRecord:
    return {
        "prefix": row.name,
        "dtypes": list(row.dtypes),
        "tensors": row.figure("tensors"),
        "params": row.figure("params"),
        "elements": row.figure("elements"),
        "bytes": row.figure("bytes"),
        "files": list(row.files),
    }
