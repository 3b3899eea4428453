"""The part of the page of ``memory`` on bytes by place."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.placement import Placement
from netcalc.render.numbers import bytes_text
from netcalc.render.page import Line, Paragraph
from netcalc.render.table import Column, Row, Table


def placement_page(placement: Placement) -> Iterator[Table | Paragraph]:
    """The bytes by place, and which layers are where."""
    device, host = placement.device, placement.host
    several = len(device.totals) > 1
    rows = [Row(["weights", device.weights, host.weights])]
    for name in device.caches:
        title = f"caches and states, {name}" if several else "caches and states"
        rows.append(Row([title, device.caches[name], host.caches[name]]))
    rows.append(Row(["activations", device.activations, host.activations]))
    for model in placement.beside:
        title = f"{model.role} {model.name}" + (", without activations" if model.activations is None else "")
        rows.append(Row([title, model.total(next(iter(device.totals))), 0]))
    totals = [
        Row([f"all, {name}" if several else "all", size, host.totals[name]]) for name, size in device.totals.items()
    ]
    yield Table([Column("by place", "path"), Column("device", "bytes"), Column("host", "bytes")], rows, totals)
    yield Paragraph([Line(text) for text in _layers_by_place(placement)])


def _layers_by_place(placement: Placement) -> Iterator[str]:
    """The layers on the device and what stays on the host, in words."""
    blocks, count = placement.layers - 1, placement.gpu_layers
    first = placement.layers - count
    if count == 0:
        yield f"no layer of {placement.list} on the device, of {blocks} and the output"
    elif first >= blocks:
        yield f"the output on the device, and no layer of {placement.list}, of {blocks}"
    else:
        numbers = f"layer {first}" if first == blocks - 1 else f"layers {first}–{blocks - 1}"
        yield f"the output and {numbers} of {placement.list} on the device: {count} of {placement.layers}"
    if placement.host_experts:
        yield f"routed experts of the first {placement.host_experts} layers on the host"
    if placement.copied:
        yield f"embeddings are the output too: {bytes_text(placement.copied)} of them on both"
