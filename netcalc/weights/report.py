"""Results of comparing a checkpoint with a program."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from netcalc.diagnostics import Diagnostic, clipped
from netcalc.results import Entry, Result, recorded
from netcalc.weights.stored import BITS

if TYPE_CHECKING:
    from netcalc.weights.packing.unpacked import Packed

#: A number that is a part of a path, or follows ``_`` or ``-`` in one that is not the last.
_NUMBER = re.compile(r"(?:(?<=\.)|^)\d+(?=\.|$)|(?<=[_-])\d+(?=\.)")
#: The pattern of all names.
_ANY = "*"
#: Beginning of messages on tensors of a file that are no parameters by themselves.
STORED = "the tensor "
#: Parts of names that a pattern lists.
_LISTED = 3
#: Groups of each kind that are reported as errors.
_SHOWN = 12
#: Characters of a name that messages and tables show; a file may hold names of any length.
_NAME = 200


def pattern_of(name: str) -> str:
    """Return a path with ``*`` in place of the numbers of layers and experts.

    >>> pattern_of("layers.3.experts.expert_0.conv1.weight")
    'layers.*.experts.expert_*.conv1.weight'
    """
    return _NUMBER.sub("*", name)


def quoted(name: str) -> str:
    """Return a name as messages quote it, of a very long one its beginning."""
    return repr(clipped(name, _NAME))


@recorded("kind", "name", "message", "hint")
@dataclass(frozen=True, slots=True)
class Mismatch:
    """Difference between a checkpoint and the program.

    ``kind`` is missing, unexpected, shape, dtype, tie, index, scheme for a tensor that is packed in another way than
    the configuration says, or value for one whose declared type is not that of the network.  The message is
    ``subject``, the name and ``predicate``.  ``path`` is the parameter if it has another name.
    """

    kind: str
    name: str
    predicate: str
    subject: str = ""
    path: str | None = None
    hint: str | None = None

    @property
    def message(self) -> str:
        """The mismatch in words."""
        return _message(self, quoted(self.name), self.path)


@recorded("kind", Entry("pattern", "name"), "count", "message", "hint")
@dataclass(frozen=True, slots=True)
class MismatchGroup:
    """Mismatches of one kind, for the same reason, whose names differ in numbers only."""

    kind: str
    name: str
    """Name with * in place of numbers, or the name of the only tensor."""
    count: int
    message: str
    hint: str | None

    @property
    def label(self) -> str:
        """The pattern, of a very long one its beginning, and the number of tensors."""
        name = clipped(self.name, _NAME)
        return f"{name} ×{self.count:,}" if self.count > 1 else name


class StoredTypes(NamedTuple):
    """Figures of all tensors of one element type."""

    dtype: str
    tensors: int
    elements: int
    bytes: int


class Extra(NamedTuple):
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


@recorded("files", "params", "elements", "bytes", "bits", "types", "packed", "extra")
@dataclass(frozen=True, slots=True)
class Inventory:
    """Figures of the checkpoint: what it stores, and the parameters that this stands for."""

    files: int
    params: int
    """Elements of the tensors that the checkpoint stands for."""
    elements: int
    """Stored elements."""
    bytes: int
    types: tuple[StoredTypes, ...]
    packed: tuple[Packed, ...]
    extra: tuple[Extra, ...]

    @property
    def bits(self) -> float | None:
        """Bits of a weight on average, where elements are stored in blocks, as in GGUF."""
        return 8 * self.bytes / self.params if self.params and any(t.dtype not in BITS for t in self.types) else None


@recorded(
    *("spec", "ok", "file", "tensors", "parameters", "initial", "ignored", "values", Entry("stored", "inventory")),
    *("mismatches", "groups"),
    name="weights",
)
@dataclass(frozen=True, slots=True)
class WeightsReport(Result):
    """The result of comparing the tensors of a checkpoint with the parameters of a spec."""

    spec: str
    """Name of the spec."""
    file: str
    tensors: int
    """Number of tensors in the file."""
    parameters: int
    """Number of parameters and buffers that were looked up."""
    mismatches: tuple[Mismatch, ...]
    initial: int = 0
    """Number of optional ones that the checkpoint lacks, and that keep their initial values."""
    ignored: int = 0
    """Number of tensors that the spec declares to be of no use."""
    inventory: Inventory | None = None
    """Figures of the checkpoint."""
    values: int = 0
    """Number of values whose types the file declares and that were compared, of a file that holds its graph."""

    @property
    def ok(self) -> bool:
        """True if all names, shapes and types match."""
        return not self.mismatches

    @property
    def groups(self) -> tuple[MismatchGroup, ...]:
        """The mismatches, grouped by their patterns."""
        return grouped(self.mismatches)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics with code E601: the first groups of each kind, and the number of further ones."""
        listed: list[Diagnostic] = []
        groups = self.groups
        for kind in dict.fromkeys(group.kind for group in groups):
            same = [group for group in groups if group.kind == kind]
            listed += (Diagnostic("E601", f"{self.file}: {g.message}", hint=g.hint) for g in same[:_SHOWN])
            rest = sum(group.count for group in same[_SHOWN:])
            if rest:
                hint = "netcalc verify --weights lists them all with --format csv"
                listed.append(Diagnostic("E601", f"{self.file}: {rest:,} more of kind {kind!r}", hint=hint))
        return tuple(listed)


@runtime_checkable
class WithGraph(Protocol):
    """Tensors of a file that holds the graph of its model too."""

    def audited(self, report: WeightsReport) -> WeightsReport:
        """Return an audit of the tensors with an audit of the graph."""


def grouped(mismatches: Iterable[Mismatch]) -> tuple[MismatchGroup, ...]:
    """Return mismatches in groups, in the order of their first members.

    Parameters of one wrong type are one group, and so are tensors of one name in several modules of equal depth.
    """
    members: dict[tuple[object, ...], dict[str, list[Mismatch]]] = {}
    for mismatch in mismatches:
        pattern = _ANY if _is_of_any_name(mismatch) else pattern_of(mismatch.name)
        place: object = pattern
        if mismatch.subject == STORED and mismatch.hint is None:
            place = (pattern.count("."), pattern.rpartition(".")[2])
        key = (mismatch.kind, place, mismatch.predicate, mismatch.subject)
        members.setdefault(key, {}).setdefault(pattern, []).append(mismatch)
    return tuple(
        _group(joined(patterns), [each for same in patterns.values() for each in same]) for patterns in members.values()
    )


def joined(patterns: Iterable[str]) -> str:
    """Return one pattern of several with equally many parts; a few that differ are listed.

    >>> joined(["layers.*.q.scale", "layers.*.k.scale"])
    'layers.*.{q,k}.scale'
    """
    parts = (list(dict.fromkeys(column)) for column in zip(*(pattern.split(".") for pattern in patterns), strict=True))
    return ".".join(
        part[0] if len(part) == 1 else "*" if len(part) > _LISTED else f"{{{','.join(part)}}}" for part in parts
    )


def _is_of_any_name(mismatch: Mismatch) -> bool:
    """Return True for the type of a parameter, and False for that of a packed tensor, which has a subject."""
    return mismatch.kind == "dtype" and not mismatch.subject


def _group(pattern: str, same: list[Mismatch]) -> MismatchGroup:
    first, count = same[0], len(same)
    if count == 1:
        return MismatchGroup(first.kind, first.name, 1, first.message, first.hint)
    if _is_of_any_name(first):
        message = f"{count:,} tensors {first.predicate.replace('is ', 'are ', 1)}"
    else:
        message = _message(
            first, f"{quoted(pattern)} ×{count:,}", None if first.path is None else pattern_of(first.path)
        )
    hint = first.hint if len({m.hint for m in same}) == 1 else None
    return MismatchGroup(first.kind, pattern, count, message, hint)


def _message(mismatch: Mismatch, name: str, path: str | None) -> str:
    part = f" (for {path})" if path is not None else ""
    return f"{mismatch.subject}{name}{part} {mismatch.predicate}"
