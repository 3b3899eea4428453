"""Weights of a model by the headers of its files, and what its configuration says in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from netcalc.analysis.stored_weights import StoredWeights
from netcalc.dims import integer
from netcalc.process_memory import format_bytes
from netcalc.results import recorded

#: Differences, and groups of tensors that are not used, that a remark names.
_NAMED = 3


class Difference(NamedTuple):
    """Parameters that take other bytes in the files than by the configuration: their schemes there and here.

    ``pattern`` are the paths of ``params`` parameters with * for numbers; empty for all of a scheme, which is the same.
    """

    pattern: str
    params: int
    expected: str
    stored: str
    configured: int
    held: int

    def __str__(self) -> str:
        if not self.pattern:
            return f"{self.stored} {' in place of '.join(_sizes(self.held, self.configured))}"
        times = f" ×{self.params:,}" if self.params > 1 else ""
        return f"{self.pattern}{times} is {self.stored}, not {self.expected}"


class Unused(NamedTuple):
    """Tensors that the network does not use, under a prefix with * for numbers."""

    prefix: str
    bytes: int


@recorded("files", "configured", "unused")
@dataclass(frozen=True, slots=True)
class FileWeights:
    """Bytes of a model's weights by the headers of its files."""

    files: int
    """Number of files whose headers were read."""
    stored: tuple[StoredWeights, ...]
    configured: int | None
    """Bytes of weights and buffers by the configuration; null if there is none beside the headers, as in GGUF."""
    differences: tuple[Difference, ...]
    left: tuple[Unused, ...]
    held: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each parameter and buffer by its path, tensors that several share counted once."""

    @property
    def bytes(self) -> int:
        """Bytes of weights and buffers."""
        return sum(integer(group.bytes) for group in self.stored)

    @property
    def unused(self) -> int:
        """Bytes of tensors that the network does not use, which are not counted."""
        return sum(group.bytes for group in self.left)

    @property
    def origin(self) -> str:
        """The origin of the bytes in words."""
        return f"bytes of weights by the headers of {self.files:,} file{'s' if self.files > 1 else ''}"

    @property
    def notes(self) -> Iterator[str]:
        """Remarks on what differs from the configuration, and on what is not counted."""
        if self.configured not in (None, self.bytes):
            held, configured = _sizes(self.bytes, self.configured)
            ranked = sorted(self.differences, key=lambda d: -abs(d.held - d.configured))
            reasons = _named(map(str, ranked), len(ranked))
            yield f"the files hold {held} of weights, and the configuration gives {configured}: {reasons}"
        if self.unused:
            ranked_left = [f"{group.prefix} {format_bytes(group.bytes)}" for group in self.left if group.bytes]
            yield f"tensors that the network does not use are not counted: {_named(ranked_left, len(ranked_left))}"


def _sizes(held: int, configured: int) -> tuple[str, str]:
    """Return two sizes, exact where they would look alike."""
    sizes = format_bytes(held), format_bytes(configured)
    return sizes if sizes[0] != sizes[1] else (f"{held:,} bytes", f"{configured:,}")


def _named(texts: Iterable[str], count: int) -> str:
    more = f" and {count - _NAMED:,} more" if count > _NAMED else ""
    return "; ".join(islice(texts, _NAMED)) + more
