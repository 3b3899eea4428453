"""Masks of pairs of positions, computed from sizes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from netcalc.dims import Dim
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor


def ahead(graph: Emitter, queries: Dim, keys: Dim, shift: Dim) -> Tensor:
    """Return the distance of each key from its query: column − row − shift, as (queries, keys)."""
    rows = graph.unsqueeze(graph.range(shift, queries + shift), [1])
    return graph.sub(graph.range(0, keys), rows)


def both(graph: Emitter, masks: Iterable[Tensor]) -> Tensor:
    """Return where all masks hold."""
    return reduce(lambda x, y: graph.binary("And", x, y), masks)
