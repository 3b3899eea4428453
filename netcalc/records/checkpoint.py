"""Record of ``params`` of a checkpoint: its tensors, read from headers alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NotRequired

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.numerics.checkpoint_content import CheckpointContent, CheckpointTensor
    from netcalc.numerics.checkpoint_tree import Group

__all__ = ["CheckpointRecord", "checkpoint_record"]


class CheckpointTotalsRecord(TypedDict):
    """Figures of all tensors; a name that several files have counts once."""

    tensors: int
    elements: int
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
    elements: int
    bytes: int


class CheckpointTensorRecord(TypedDict):
    """A tensor."""

    name: str
    dtype: str
    """Element type; one that netcalc does not have is named as in the file."""
    shape: list[int]
    elements: int
    bytes: int
    file: str


class CheckpointGroupRecord(TypedDict):
    """All tensors under a prefix."""

    prefix: str
    """Name of the prefix, or of the only tensor."""
    dtypes: list[str]
    tensors: int
    elements: int
    bytes: int
    files: list[str]


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
    tensors: NotRequired[list[CheckpointTensorRecord]]
    """Without `--depth`: the tensors."""
    groups: NotRequired[list[CheckpointGroupRecord]]
    """With `--depth`: the prefixes at that depth."""


def checkpoint_record(
    content: CheckpointContent, rows: Iterable[Group] | None = None, *, depth: bool = False
) -> CheckpointRecord:
    """Return the record of a checkpoint; ``rows`` are the tensors or groups to include, by default all tensors."""
    record: CheckpointRecord = {
        "schema": schema_id("checkpoint"),
        "netcalc": __version__,
        "file": content.name,
        "files": [{"name": file.name, "tensors": file.tensors, "bytes": file.bytes} for file in content.files],
        "totals": {"tensors": len(content.tensors), "elements": content.elements, "bytes": content.bytes},
        "types": [
            {"dtype": found.dtype, "tensors": found.tensors, "elements": found.elements, "bytes": found.bytes}
            for found in content.types
        ],
        "duplicates": [
            {"name": found.name, "files": list(found.files), "same": found.same, "bytes": found.bytes}
            for found in content.duplicates
        ],
        "copies": [
            {"prefix": found.prefix, "tensors": found.tensors, "bytes": found.bytes} for found in content.copies
        ],
    }
    if depth:
        record["groups"] = [_group(row) for row in rows or ()]
        return record
    by_name = {tensor.name: tensor for tensor in content.tensors}
    shown = content.tensors if rows is None else [by_name[row.name] for row in rows]
    record["tensors"] = [_tensor(tensor) for tensor in shown]
    return record


def _tensor(tensor: CheckpointTensor) -> CheckpointTensorRecord:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "elements": tensor.elements,
        "bytes": tensor.bytes,
        "file": tensor.file,
    }


def _group(row: Group) -> CheckpointGroupRecord:
    return {
        "prefix": row.name,
        "dtypes": list(row.dtypes),
        "tensors": row.figure("tensors"),
        "elements": row.figure("elements"),
        "bytes": row.figure("bytes"),
        "files": list(row.files),
    }
