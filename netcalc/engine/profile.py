"""Profiles: the time of each layer of a planned run, beside the GEMM speed of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.arrays import Array
from netcalc.dims import integer
from netcalc.engine.graph import GraphNode
from netcalc.engine.plan import PlanMemory
from netcalc.engine.runtime.blas import blas_threads
from netcalc.engine.runtime.session import Session
from netcalc.engine.step import Step
from netcalc.process_memory import MemoryBaseline
from netcalc.results import Entry, Result, recorded

#: Timed passes, of which medians are taken.
PASSES = 5
#: Rows and columns of the matrices whose product measures the GEMM speed.
_GEMM_SIZE = 2048


class Fused(NamedTuple):
    """An operation that is executed together with another."""

    path: str
    op: str


class LayerTime(NamedTuple):
    """The time of an operation, including those fused into it.

    FLOPs are counted by the definition, even if the algorithm needs fewer.
    """

    path: str
    op: str
    fused: tuple[Fused, ...]
    seconds: float
    flops: int


class OperationTime(NamedTuple):
    """The time of all layers of one operation; ``copy`` is copying tensors into another memory layout."""

    op: str
    layers: int
    seconds: float
    flops: int


class ProfileMemory(NamedTuple):
    """Predicted memory by purpose, and its sum beside the measured memory, in bytes."""

    weights: int
    arena: int
    scratch: int
    patterns: int
    temporary: int
    outputs: int
    inputs: int
    predicted: int
    measured: int | None
    """Null if the process had used more memory before, which hides the peak of the run."""


@recorded(
    *("threads", "passes", "seconds", "flops", Entry("gemm_flops_per_second", "gemm"), "layers", "operations"), "memory"
)
@dataclass(frozen=True, slots=True)
class Profile(Result):
    """The time of a planned run by layer and by operation, and its memory by purpose."""

    threads: int
    passes: int
    """Number of timed passes; times are medians over them."""
    layers: tuple[LayerTime, ...]
    operations: tuple[OperationTime, ...]
    gemm: float
    """Speed of a product of large matrices on the same number of threads."""
    predicted: PlanMemory
    measured: int | None
    """Growth of resident memory since before the weights were loaded, plus the private memory of worker processes.

    None if the process had held more before.
    """

    @property
    def memory(self) -> ProfileMemory:
        """Predicted memory by purpose, and its sum beside the measured memory, in bytes."""
        return ProfileMemory(*self.predicted, self.predicted.peak, self.measured)

    @property
    def seconds(self) -> float:
        """Seconds of a pass."""
        return sum(layer.seconds for layer in self.layers)

    @property
    def flops(self) -> int:
        """FLOPs of a pass."""
        return sum(layer.flops for layer in self.layers)


def profile(session: Session, inputs: Sequence[Array], baseline: MemoryBaseline, *, passes: int = PASSES) -> Profile:
    """Profile a session that has run before; ``baseline`` is the memory measured before it was made."""
    plan = session.plan
    times: list[list[float]] = [[] for _ in plan.steps]
    with session.turn:
        for _ in range(passes):
            session(inputs, lambda number, step, seconds: times[number].append(seconds))
        measured = baseline.peak_increase()
        measured = None if measured is None else measured + session.private_bytes
    steps = [(step, float(np.median(seconds))) for step, seconds in zip(plan.steps, times, strict=True)]
    analysis = Analysis(plan.program, CONVENTIONS["netcalc"])
    return Profile(
        plan.threads,
        passes,
        tuple(_by_layer(steps, analysis)),
        tuple(_by_operation(steps, analysis)),
        _gemm(plan.threads),
        plan.memory,
        measured,
    )


def _by_layer(steps: Sequence[tuple[Step, float]], analysis: Analysis) -> list[LayerTime]:
    seconds: dict[GraphNode, float] = {}
    for step, time in steps:
        seconds[step.node] = seconds.get(step.node, 0.0) + time
    return [
        LayerTime(
            node.instance.path,
            node.op.name,
            tuple(Fused(other.instance.path, other.op.name) for other in node.after),
            time,
            _flops(node, analysis),
        )
        for node, time in seconds.items()
    ]


def _by_operation(steps: Sequence[tuple[Step, float]], analysis: Analysis) -> list[OperationTime]:
    """Return the times by operation, the longest first."""
    seconds: dict[str, float] = {}
    nodes: dict[str, dict[GraphNode, None]] = {}
    for step, time in steps:
        name = step.what or step.node.op.name
        seconds[name] = seconds.get(name, 0.0) + time
        nodes.setdefault(name, {})[step.node] = None
    times = [
        OperationTime(
            name, len(group), seconds[name], sum(_flops(node, analysis) for node in group if node.op.name == name)
        )
        for name, group in nodes.items()
    ]
    return sorted(times, key=lambda operation: -operation.seconds)


def _flops(node: GraphNode, analysis: Analysis) -> int:
    return sum(integer(analysis.node(part.instance.node).flops) for part in (node, *node.after))


def _gemm(threads: int) -> float:
    first, second = np.random.default_rng(0).random((2, _GEMM_SIZE, _GEMM_SIZE), dtype=np.float32)
    product = np.empty_like(first)
    times = []
    with blas_threads(threads):
        for _ in range(PASSES):
            start = perf_counter()
            np.matmul(first, second, out=product)
            times.append(perf_counter() - start)
    return 2 * _GEMM_SIZE**3 / min(times)
