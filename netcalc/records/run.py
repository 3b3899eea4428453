"""Record of ``run``: statistics of outputs and traced tensors, memory, and the profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NotRequired, cast

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.engine.profile import LayerTime, Profile
    from netcalc.engine.run import RunResult
    from netcalc.numerics.trace import TraceRow

__all__ = ["ProfileRecord", "RunRecord", "profile_record", "run_record"]

#: Outputs of at most this many elements are written with their values.
MAX_VALUES = 64


class StatisticsRecord(TypedDict):
    """A tensor and its statistics; numbers that are not finite are text."""

    shape: list[int]
    dtype: str
    mean: float | str
    std: float | str
    min: float | str
    max: float | str
    absmax: float | str
    """The greatest absolute value."""


class OutputRecord(StatisticsRecord):
    """An output of the network."""

    values: NotRequired[Any]
    """The elements in nested lists, of small outputs only."""


class TraceRecord(StatisticsRecord):
    """A traced output of an operation or a block."""

    path: str
    op: str


class MemoryRecord(TypedDict):
    """The predicted memory in bytes."""

    weights: int
    activations: int
    peak: int


class FusedRecord(TypedDict):
    """An operation that is executed together with another."""

    path: str
    op: str


class LayerTimeRecord(TypedDict):
    """The time of an operation, including those fused into it."""

    path: str
    op: str
    fused: list[FusedRecord]
    seconds: float
    flops: int


class OperationTimeRecord(TypedDict):
    """The time of all layers of one operation; `copy` is copying tensors into another memory layout."""

    op: str
    layers: int
    seconds: float
    flops: int


class ProfileMemoryRecord(TypedDict):
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


class ProfileRecord(TypedDict):
    """The time of a planned run by layer and by operation, and its memory by purpose."""

    threads: int
    passes: int
    """Number of timed passes; times are medians over them."""
    seconds: float
    flops: int
    gemm_flops_per_second: float
    """Speed of a product of large matrices on the same number of threads."""
    layers: list[LayerTimeRecord]
    operations: list[OperationTimeRecord]
    memory: ProfileMemoryRecord


class RunRecord(TypedDict):
    """The result of a forward pass."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    seed: int
    """Seed of everything drawn."""
    outputs: dict[str, OutputRecord]
    trace: list[TraceRecord]
    plan: str
    """Way of execution: fast or reference."""
    memory: MemoryRecord
    profile: NotRequired[ProfileRecord]


def run_record(result: RunResult, layers: Iterable[LayerTime] | None = None) -> RunRecord:
    """Return the record of a run; ``layers`` are the layers of its profile to include, by default all."""
    from netcalc.numerics.trace import TraceRow

    record: RunRecord = {
        "schema": schema_id("run"),
        "netcalc": __version__,
        "spec": result.spec,
        "seed": result.seed,
        "outputs": {name: _output(TraceRow.of(name, "", array), array) for name, array in result.outputs.items()},
        "trace": [{"path": row.path, "op": row.op, **_statistics(row)} for row in result.trace],
        "plan": result.plan,
        "memory": {
            "weights": result.memory.weights,
            "activations": result.memory.activations,
            "peak": result.memory.peak,
        },
    }
    if result.profile is not None:
        record["profile"] = profile_record(result.profile, layers)
    return record


def profile_record(profile: Profile, layers: Iterable[LayerTime] | None = None) -> ProfileRecord:
    """Return the record of a profile; ``layers`` are the layers to include, by default all."""
    memory = profile.predicted
    return {
        "threads": profile.threads,
        "passes": profile.passes,
        "seconds": profile.seconds,
        "flops": profile.flops,
        "gemm_flops_per_second": profile.gemm,
        "layers": [
            {
                "path": layer.path,
                "op": layer.op,
                "fused": [{"path": path, "op": op} for path, op in layer.fused],
                "seconds": layer.seconds,
                "flops": layer.flops,
            }
            for layer in (profile.layers if layers is None else layers)
        ],
        "operations": [
            {"op": time.op, "layers": time.layers, "seconds": time.seconds, "flops": time.flops}
            for time in profile.operations
        ],
        "memory": {
            "weights": memory.weights,
            "arena": memory.arena,
            "scratch": memory.scratch,
            "patterns": memory.patterns,
            "temporary": memory.temporary,
            "outputs": memory.outputs,
            "inputs": memory.inputs,
            "predicted": memory.peak,
            "measured": profile.measured,
        },
    }


def _output(row: TraceRow, array: Any) -> OutputRecord:
    output = cast("OutputRecord", _statistics(row))
    if array.size <= MAX_VALUES:
        output["values"] = plain(array.tolist())
    return output


def _statistics(row: TraceRow) -> StatisticsRecord:
    return {
        "shape": list(row.shape),
        "dtype": row.dtype,
        "mean": plain(row.mean),
        "std": plain(row.std),
        "min": plain(row.min),
        "max": plain(row.max),
        "absmax": plain(row.absmax),
    }
