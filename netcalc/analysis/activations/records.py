"""Typed result of the memory of activations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.diagnostics import Span
from netcalc.dtypes import DType
from netcalc.ir import join

__all__ = ["Activations", "LiveTensor", "Point", "Step"]


class LiveTensor(NamedTuple):
    """A tensor that holds memory: the path of the operation that made it, or the name of an input of the program.

    ``bytes`` is the size of its memory, which may be more than ``shape`` takes where the tensor is part of another one.
    ``work`` names what a kernel keeps beside its outputs, such as the indices of max pooling; it is empty otherwise.
    """

    path: str
    shape: tuple[int, ...]
    dtype: DType
    bytes: int
    work: str = ""

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


class Point(NamedTuple):
    """Bytes that are live while the operation at ``path`` runs; ``times`` such iterations are equal."""

    path: str
    op: str
    bytes: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Activations:
    """Memory of activations in one forward pass, in bytes.

    ``peak`` is reached at the operation ``at``, which stands at ``span``, and ``live`` are the tensors that hold memory
    then, in the order in which they were made.  ``timeline`` are the steps of the program.
    """

    execution: str
    peak: int
    at: str
    span: Span | None
    live: tuple[LiveTensor, ...]
    timeline: tuple[Step, ...]

    @property
    def layers(self) -> tuple[Point, ...]:
        """The peak within each layer of the program, in order of execution; equal iterations of a repeat are one."""
        return tuple(Point(step.path, step.op, step.bytes, step.times) for step in self.timeline)

    def points(self) -> Iterator[Point]:
        """Yield the bytes that are live at each operation, in order of execution; equal iterations are yielded once."""
        pending = [(iter(self.timeline), "", 0, 1)]
        while pending:
            steps, prefix, base, times = pending[-1]
            step = next(steps, None)
            if step is None:
                pending.pop()
                continue
            path = join(prefix, step.path)
            if step.inside:
                pending.append((iter(step.inside), path, base + step.base, times * step.times))
            else:
                yield Point(path, step.op, base + step.bytes, times * step.times)
