"""Typed result of the memory of activations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.diagnostics import Span
from netcalc.dtypes import DType
from netcalc.ir import join
from netcalc.results import recorded


@recorded("path", "work", "shape", "dtype", "bytes")
class LiveTensor(NamedTuple):
    """A tensor that holds memory at the peak."""

    path: str
    """Path of the operation that made it, or name of an input."""
    shape: tuple[int, ...]
    dtype: DType
    bytes: int
    """Bytes of its memory, which may be more than its shape takes where it is part of another tensor."""
    work: str = ""
    """Name of a work buffer of a kernel, such as the indices of max pooling, or empty."""

    def below(self, prefix: str) -> LiveTensor:
        """Return the tensor with a prefix before its path."""
        return self._replace(path=join(prefix, self.path))


class Step(NamedTuple):
    """A node of a body: an operation, or equal iterations of a call.

    ``path`` is the path of the first iteration, relative to the body.  ``bytes`` is the most that is live meanwhile,
    and ``base`` what the calling body holds of it; both are relative to the base of the body.  ``inside`` are the steps
    of the body that is called.  Equal bodies share them.
    """

    path: str
    op: str
    bytes: int
    times: int = 1
    base: int = 0
    inside: tuple[Step, ...] = ()


@recorded("path", "op", "repeat", "bytes")
class Point(NamedTuple):
    """A layer with the most bytes that are live while it runs."""

    path: str
    """Path of the first instance."""
    op: str
    bytes: int
    repeat: int = 1
    """Number of equal instances in a row."""


@recorded("peak", "at", "live")
@dataclass(frozen=True, slots=True)
class Activations:
    """Memory of activations in one forward pass, in bytes."""

    execution: str
    peak: int
    """The most bytes at a time."""
    at: str
    """Path of the operation at which the peak is reached."""
    span: Span | None
    """Place of that operation in the spec."""
    live: tuple[LiveTensor, ...]
    """The tensors that hold memory then, in the order in which they were made."""
    timeline: tuple[Step, ...]
    """Steps of the program."""

    @property
    def layers(self) -> tuple[Point, ...]:
        """The peak within each layer of the program, in order of execution; equal iterations of a repeat are one."""
        return tuple(Point(step.path, step.op, step.bytes, step.times) for step in self.timeline)

    def points(self, depth: int | None = None) -> Iterator[Point]:
        """Yield the bytes that are live at each operation, in order of execution; equal iterations are yielded once.

        With a depth it is the peak within each layer whose path has so many parts, or fewer if it has no layers inside.
        """
        pending = [(iter(self.timeline), "", 0, 1)]
        while pending:
            steps, prefix, base, times = pending[-1]
            step = next(steps, None)
            if step is None:
                pending.pop()
                continue
            path = join(prefix, step.path)
            if step.inside and (depth is None or path.count(".") + 1 < depth):
                pending.append((iter(step.inside), path, base + step.base, times * step.times))
            else:
                yield Point(path, step.op, base + step.bytes, times * step.times)
