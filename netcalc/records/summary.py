"""Records of ``shapes``, ``params``, ``flops`` and ``summary``.

The totals and the layers also have the figures that :mod:`netcalc.analysis.figures` declares for the view.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from netcalc.analysis.figures import FIGURES, shown_totals
from netcalc.analysis.folding import Numbers
from netcalc.analysis.summary import Layer, Summary, layer_fields
from netcalc.dims import claimed
from netcalc.records import schema_id, written
from netcalc.records.storage import StorageRecord
from netcalc.records.values import Shape, TensorRecord, count, shapes, tensor
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.analysis.receptive_field import AxisField

__all__ = ["InstancesRecord", "LayerRecord", "SummaryRecord", "TotalsRecord", "instances_record", "summary_record"]


class TotalsRecord(TypedDict):
    """Figures of the whole network; a part such as `params_active` only if it differs from the whole."""


class InstancesRecord(TypedDict):
    """Numbers of equal instances: `run` consecutive ones, again every `period` numbers, `count` in all."""

    prefix: str
    """The path before the number."""
    first: int
    count: int
    run: int
    period: int


class AxisFieldRecord(TypedDict):
    """Receptive field along a spatial axis of the input, in elements of the input."""

    size: int | Literal["all"] | None
    """Number of positions, padding included; null if it is not known."""
    stride: NotRequired[float]
    """Distance between the fields of neighbouring positions."""
    offset: NotRequired[float]
    """Centre of the field of the first position; the first element of the input is at 0."""


class LayerRecord(TypedDict):
    """An operation, or with `--depth` a part of the network; figures are those of one instance."""

    path: str
    """Path of the first instance."""
    op: str
    """Name of the operation or block."""
    inputs: NotRequired[list[Shape]]
    """Shapes of the inputs."""
    outputs: NotRequired[list[Shape]]
    """Shapes of the outputs."""
    repeat: int
    """Number of instances; figure times repeat, summed over the layers, is the total."""
    instances: list[InstancesRecord]
    """Numbers of the instances, for each numbered part of the path with several of them; the outermost first."""
    receptive_field: NotRequired[list[AxisFieldRecord]]
    """With `--receptive-field`: one for each spatial axis of the input; none if the layer does not depend on it."""


class SummaryRecord(TypedDict):
    """A network's inputs, outputs, totals and layers."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    convention: NotRequired[str]
    """Counting convention of the work."""
    inputs: dict[str, TensorRecord]
    outputs: dict[str, TensorRecord]
    totals: NotRequired[TotalsRecord]
    layers: list[LayerRecord]
    """Layers in order of execution."""
    unknown: NotRequired[list[str]]
    """Operators whose work is not known; with any, the totals are at least what they are."""
    uncounted: NotRequired[list[str]]
    """Operations whose work the convention leaves out, if there are any."""
    counted_as: NotRequired[dict[str, str]]
    """Implementation whose work is counted, by operations whose implementations differ in their work."""
    backward: NotRequired[bool]
    """With `--backward` and `--training`: true, since the figures include a backward pass."""
    training: NotRequired[str]
    """With `--training`: the optimizer whose update is counted."""
    remarks: NotRequired[list[str]]
    """Faults of the tool that the convention reproduces, where they change a figure."""
    storage: NotRequired[StorageRecord]
    """In `params` and `summary`, with `--quantize` or `--prune`."""
    assumptions: NotRequired[list[str]]
    """What the results for symbolic sizes rely on, if anything."""


def summary_record(summary: Summary) -> SummaryRecord:
    """Return the record of the view of a summary."""
    view = summary.view
    totals = {
        figure.name: count(figure.of(summary.totals)) for figure in shown_totals(view, [summary.totals], summary.phases)
    }
    fields = layer_fields(view, summary.phases)
    record: SummaryRecord = {
        "schema": schema_id(view),
        "netcalc": __version__,
        "spec": summary.spec,
        "convention": summary.convention,
        "inputs": {name: tensor(type_) for name, type_ in summary.inputs.items()},
        "outputs": {name: tensor(type_) for name, type_ in summary.outputs.items()},
        "totals": cast("TotalsRecord", totals),
        "layers": [_layer(layer, fields) for layer in summary.layers],
    }
    if view in ("shapes", "params"):
        del record["convention"]  # they count no work
    else:
        record |= _gaps(summary)
    if not totals:
        del record["totals"]
    if summary.storage is not None and view in ("params", "summary"):
        record["storage"] = written(summary.storage)
    if summary.assumptions:
        record["assumptions"] = list(map(claimed, summary.assumptions))
    return record


def _gaps(summary: Summary) -> SummaryRecord:
    """Return what is to be known of the work that is counted."""
    found = {
        "unknown": list(summary.unknown),
        "uncounted": list(summary.uncounted),
        "counted_as": dict(summary.counted_as),
        "backward": "backward" in summary.phases,
        "training": summary.optimizer,
        "remarks": list(summary.remarks),
    }
    return cast("SummaryRecord", {name: value for name, value in found.items() if value})


def _layer(layer: Layer, fields: Iterable[str]) -> LayerRecord:
    record = cast("LayerRecord", {name: _field(layer, name) for name in fields})
    if layer.receptive_field is not None:
        record["receptive_field"] = [_axis_field(along) for along in layer.receptive_field]
    return record


def _axis_field(along: AxisField) -> AxisFieldRecord:
    if along.stride is None or along.offset is None:
        return {"size": along.size}
    return {"size": along.size, "stride": float(along.stride), "offset": float(along.offset)}


def instances_record(prefix: str, numbers: Numbers) -> InstancesRecord:
    """Return the record of the numbers of instances, with the path before them."""
    first, count, run, period = numbers
    return {"prefix": prefix, "first": first, "count": count, "run": run, "period": period}


def _field(layer: Layer, name: str) -> Any:
    if name in FIGURES:
        return count(FIGURES[name].of(layer))
    if name == "instances":
        return [instances_record(prefix, numbers) for prefix, numbers in layer.ranges]
    value = getattr(layer, name)
    return shapes(value) if isinstance(value, tuple) else value
