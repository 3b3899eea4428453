"""Record of ``run --quantize`` and ``run --prune``: errors of outputs and layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.engine.layer_errors import LayerError
    from netcalc.engine.rounding import RoundingResult
    from netcalc.numerics.rounding.deviation import Deviation

__all__ = ["RoundingRecord", "rounding_record"]


class ErrorRecord(TypedDict):
    """Measures of the difference from full precision; numbers that are not finite are text."""

    error: float | str
    """Root mean square of the differences, over that of the values in full precision."""
    max_error: float | str
    """The greatest absolute difference."""
    decibels: float | str
    """Ratio of signal to noise."""
    cosine: float | str
    """Cosine of the angle between both."""


class OutputErrorRecord(ErrorRecord):
    """An output of the network."""

    shape: list[int]
    dtype: str


class LayerErrorRecord(ErrorRecord):
    """The output of a layer, or of equal layers of a repeat, with their parameters."""

    path: str
    op: str
    """The operation; empty for several."""
    instances: int
    """Number of equal layers that the entry stands for."""
    schemes: list[str]
    """The schemes of the rounded parameters, else of all, with the pattern or the share of what is removed."""
    elements: int
    """Elements of the parameters."""
    bytes: int
    """Bytes of the stored parameters."""
    weight_error: float | str
    """Root mean square of the differences of the rounded parameters, over that of these in full precision."""
    least: float | str
    """Error of the instance with the smallest one."""
    greatest: float | str
    """Error of the instance with the largest one."""


class KeptRecord(TypedDict):
    """Parameters that are stored otherwise than assigned, most of them in full precision."""

    reason: str
    scheme: str
    """The scheme that they are stored by: that of their element type for full precision."""
    tensors: int
    elements: int
    bytes: int
    paths: list[str]


class RoundingMemoryRecord(TypedDict):
    """The predicted memory of both runs in lockstep, in bytes."""

    weights: int
    activations: int
    peak: int


class RoundingRecord(TypedDict):
    """The errors of a run with rounded or pruned parameters."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    seed: int
    """Seed of everything drawn."""
    assigned: list[str]
    """The assignments of schemes and sparsity."""
    plan: str
    """Way in which the outputs were computed: fast or reference."""
    outputs: dict[str, OutputErrorRecord]
    layers: list[LayerErrorRecord]
    kept: list[KeptRecord]
    memory: RoundingMemoryRecord


def rounding_record(result: RoundingResult, layers: Iterable[LayerError] | None = None) -> RoundingRecord:
    """Return the record of the errors of a run; ``layers`` are the rows to include, by default those of all layers."""
    return {
        "schema": schema_id("rounding"),
        "netcalc": __version__,
        "spec": result.spec,
        "seed": result.seed,
        "assigned": list(result.assigned),
        "plan": result.plan,
        "outputs": {
            output.name: {**_errors(output.deviation), "shape": list(output.shape), "dtype": output.dtype}
            for output in result.errors
        },
        "layers": [_layer(layer) for layer in (result.layers() if layers is None else layers)],
        "kept": [
            {
                "reason": group.reason,
                "scheme": group.scheme,
                "tensors": group.tensors,
                "elements": group.elements,
                "bytes": group.bytes,
                "paths": list(group.paths),
            }
            for group in result.kept
        ],
        "memory": {
            "weights": result.memory.weights,
            "activations": result.memory.activations,
            "peak": result.memory.peak,
        },
    }


def _layer(layer: LayerError) -> LayerErrorRecord:
    return {
        "path": layer.path,
        "op": layer.op,
        "instances": layer.instances,
        "schemes": list(layer.schemes),
        "elements": layer.elements,
        "bytes": layer.bytes,
        "weight_error": plain(layer.weight_error),
        **_errors(layer.output),
        "least": plain(layer.least),
        "greatest": plain(layer.greatest),
    }


def _errors(deviation: Deviation) -> ErrorRecord:
    return {
        "error": plain(deviation.relative),
        "max_error": plain(deviation.greatest),
        "decibels": plain(deviation.decibels),
        "cosine": plain(deviation.cosine),
    }
