"""Record of ``run --backward``: the loss, and the norms of gradients by layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.engine.gradients import GradientResult
    from netcalc.engine.layer_gradients import LayerGradient

__all__ = ["GradientsRecord", "gradients_record"]


class LayerGradientRecord(TypedDict):
    """The gradients of a layer, of equal layers of a repeat, or of an input; numbers that are not finite are text."""

    path: str
    op: str
    """The operation; input for an input."""
    instances: int
    """Number of equal layers that the entry stands for."""
    elements: int
    norm: float | str
    """Norm of the gradients of all instances together."""
    least: float | str
    """Norm of the instance with the smallest gradient."""
    greatest: float | str
    """Norm of the instance with the largest gradient."""
    absmax: float | str
    """The greatest absolute value."""


class GradientsRecord(TypedDict):
    """The result of a forward and a backward pass."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    seed: int
    """Seed of everything drawn."""
    loss: float | str
    summed: list[str]
    """The outputs whose sum the loss is; loss for the loss of the spec."""
    norm: float | str
    """Norm of the gradients of all parameters."""
    layers: list[LayerGradientRecord]
    unreached: list[str]
    """Parameters that the loss does not depend on."""
    saved_bytes: int
    """Bytes of the tensors that the forward pass saved."""


def gradients_record(result: GradientResult, layers: Iterable[LayerGradient] | None = None) -> GradientsRecord:
    """Return the record of a backward pass; ``layers`` are the rows to include, by default those of the result."""
    return {
        "schema": schema_id("gradients"),
        "netcalc": __version__,
        "spec": result.spec,
        "seed": result.seed,
        "loss": plain(result.loss),
        "summed": list(result.summed),
        "norm": plain(result.norm),
        "layers": [
            {
                "path": layer.path,
                "op": layer.op,
                "instances": layer.instances,
                "elements": layer.elements,
                "norm": plain(layer.norm),
                "least": plain(layer.least),
                "greatest": plain(layer.greatest),
                "absmax": plain(layer.absmax),
            }
            for layer in (result.layers if layers is None else layers)
        ],
        "unreached": list(result.unreached),
        "saved_bytes": result.saved_bytes,
    }
