"""Where the time of a planned run goes, layer by layer, beside what the machine can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.dims import value_at
from netcalc.engine.graph import Node
from netcalc.engine.plan import PlanMemory
from netcalc.engine.runtime.session import Session
from netcalc.engine.step import Step
from netcalc.numerics.kernels import Array
from netcalc.numerics.process_memory import Growth

__all__ = ["PASSES", "LayerTime", "OperationTime", "Profile", "profile"]

#: Timed passes, of which medians are taken.
PASSES = 5
#: Rows and columns of the matrices whose product tells what the machine can do.
_SQUARE = 2048


class LayerTime(NamedTuple):
    """One operation, with those fused into it by path and name; seconds of a pass, and FLOPs of all of them.

    FLOPs are those of the definition, also where an algorithm does with fewer.
    """

    path: str
    op: str
    fused: tuple[tuple[str, str], ...]
    seconds: float
    flops: int


class OperationTime(NamedTuple):
    """All layers of one operation; ``copy`` stands for bringing tensors into the order that an operation takes."""

    op: str
    layers: int
    seconds: float
    flops: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Times are medians over the passes, step by step.

    ``gemm`` is the FLOP/s of NumPy's product of large square float32 matrices on as many threads, the best of a few.
    ``measured`` is how far resident memory rose at the most since before the weights were loaded, and what processes
    hold that share the work; None if the process had held more before.
    """

    threads: int
    passes: int
    layers: tuple[LayerTime, ...]
    operations: tuple[OperationTime, ...]
    gemm: float
    predicted: PlanMemory
    measured: int | None

    @property
    def seconds(self) -> float:
        """A pass."""
        return sum(layer.seconds for layer in self.layers)

    @property
    def flops(self) -> int:
        """The work of a pass."""
        return sum(layer.flops for layer in self.layers)


def profile(session: Session, inputs: Sequence[Array], growth: Growth, *, passes: int = PASSES) -> Profile:
    """Times a session that has run before; ``growth`` is from before it was made."""
    plan = session.plan
    times: list[list[float]] = [[] for _ in plan.steps]
    for _ in range(passes):
        session(inputs, lambda number, step, seconds: times[number].append(seconds))
    measured = growth.most()
    measured = None if measured is None else measured + session.held
    steps = [(step, float(np.median(of))) for step, of in zip(plan.steps, times, strict=True)]
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
    seconds: dict[Node, float] = {}
    for step, time in steps:
        seconds[step.node] = seconds.get(step.node, 0.0) + time
    return [
        LayerTime(
            node.instance.path,
            node.op.name,
            tuple((other.instance.path, other.op.name) for other in node.after),
            time,
            _flops(node, analysis),
        )
        for node, time in seconds.items()
    ]


def _by_operation(steps: Sequence[tuple[Step, float]], analysis: Analysis) -> list[OperationTime]:
    """The longest first."""
    seconds: dict[str, float] = {}
    nodes: dict[str, dict[Node, None]] = {}
    for step, time in steps:
        name = step.what or step.node.op.name
        seconds[name] = seconds.get(name, 0.0) + time
        nodes.setdefault(name, {})[step.node] = None
    found = [
        OperationTime(name, len(of), seconds[name], sum(_flops(node, analysis) for node in of if node.op.name == name))
        for name, of in nodes.items()
    ]
    return sorted(found, key=lambda operation: -operation.seconds)


def _flops(node: Node, analysis: Analysis) -> int:
    return sum(value_at(analysis.node(part.instance.node).flops, {}) for part in (node, *node.after))


def _gemm(threads: int) -> float:
    first, second = np.random.default_rng(0).random((2, _SQUARE, _SQUARE), dtype=np.float32)
    product = np.empty_like(first)
    times = []
    with threadpool_limits(limits=threads, user_api="blas"):
        for _ in range(PASSES):
            start = perf_counter()
            np.matmul(first, second, out=product)
            times.append(perf_counter() - start)
    return 2 * _SQUARE**3 / min(times)
